# The two commands of the README are `make demo` and `make test`; the rest is for developers.
# Everything is installed into a virtual environment, .venv (VENV=... for another place).

VENV ?= .venv
# The Python that .venv is made with; where it is not set, scripts/find-python looks for one.
export PYTHON
ifneq ($(words $(VENV)),1)
$(error VENV="$(VENV)": make knows no file names with spaces, nor an empty one; name another folder)
endif
BIN = $(VENV)/bin
STAMP = $(VENV)/.installed
ENGINE = $(VENV)/.engine
C_FILES = core/*.c core/*.h icd/*.c icd/*.h icd/shim/*.c icd/shim/*.h icd/preload/*.c icd/host/*.c icd/mmd/*.c icd/mmd/*.h icd/process/*.c icd/process/*.h conformance/c/*.c conformance/c/*.h conformance/surroundings/*.c tests/programs/*.c tests/programs/*.h examples/*.c examples/*/*.c benchmarks/*.c benchmarks/shapes/*.c benchmarks/shapes/*.h clients/*.c fpgart/*/*.c fpgart/*/*.h tests/checks/*.c tests/checks/*.h tests/engine_faults/*.c include/aocl_mmd.h $(wildcard examples/intel-host/*/src/*.cpp examples/intel-host/*/src/*/*.cpp examples/intel-host/*/inc/*/*.h)
DRIVER_SOURCES = $(wildcard core/*.c core/*.h icd/*.c icd/shim/*.c icd/shim/*.h icd/host/*.c icd/mmd/*.c icd/mmd/*.h icd/process/*.c icd/process/*.h icd/*.h icd/*.py include/*.h include/CL/*.h fpgart/*/*.c fpgart/*/*.h tests/checks/*.c tests/checks/*.h) build_icd.py pyproject.toml setup.py

# Else each process of the tests would compile all of them again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := build
.PHONY: build site demo fuzz test shake nightly roots intel-engine intel isolated served ways check-remote lint docs-check format picture gallery bench shapes programs engines clients cts original soak coverage mutants ledger wheels sanitize surroundings limits clean help

help:
	@echo "make demo     build everything, run a C host and a pyopencl host on the simulated board"
	@echo "make test     the tests, Python and conformance, but for the slow ones; WORKERS=8 for more at once"
	@echo "make shake    the tests RUNS=20 times in random orders, at LOADS=\"1 4 12\"; TESTS=tests/test_usm.py for a part; AGAIN=1 from the start"
	@echo "make nightly  all tests, ten times the random examples and schedules, and those for Intel's engine"
	@echo "make roots    both commands of the README in new roots of Debian 13 and the newest Ubuntu; ROOTS=bookworm for others"
	@echo "make intel    the tests that PoCL cannot run, on Intel's engine, which is downloaded into build/intel (810 MB)"
	@echo "make isolated the conformance tests with kernels in a process of their own, and what they may do wrong there"
	@echo "make ways     the conformance tests as they are, with traces and checks on, and with every command decided by Python"
	@echo "make served   the conformance tests on the boards of a service"
	@echo "make check-remote POCLD=folder  kernels through PoCL's remote driver and a server on this machine; docs/clusters.md"
	@echo "make lint     format, types, layers"
	@echo "make docs-check  whether each figure in the documentation names the command that makes it"
	@echo "make engines  suites on every engine that can be fetched, into docs/engines.md; hours. ENGINES=pocl-wheel SUITES=hosts for a part"
	@echo "make clients  real programs on the board (clients/recipes), beside the bare engine where they run there; hours;"
	@echo "              CLIENTS=\"dace clinfo\" for some; writes docs/programs.md. RECIPES=folder of your own, SOURCES=folder of repositories"
	@echo "make cts CTS=folder  Khronos' conformance tests, sources or built, on the board and on the bare engine; hours"
	@echo "make original RUNTIME=file   the calls of a board that Intel's runtime (libalteracl.so) and fpgart make for the same hosts"
	@echo "make soak     random calls from many threads, every byte checked, memory flat; SECONDS=3600 for an hour each;"
	@echo "              hosts whose threads meet in many ways, RUNS=100 times each"
	@echo "make fuzz     damaged inputs for all that reads files, binaries and sources; BYTES=1000000000 and SEED=2 for more"
	@echo "make sanitize conformance on C parts with AddressSanitizer and UBSan (SANITIZERS=thread for the other); SANITIZED=conformance/test_usm.py"
	@echo "make surroundings  hosts without files, memory, threads, /proc and so on, beside the bare engine; LIBRARIES=folder of allocators"
	@echo "make limits   very many commands, events, objects and bytes of source, beside the bare engine; ten minutes"
	@echo "make site     the documentation as pages in build/site, and the manual page of fpgart; a link that leads nowhere is an error"
	@echo "make picture  docs/pictures/runtime-after.svg: which modules of the runtime import each other; needs Graphviz"
	@echo "make gallery  the pictures of docs/gallery.md; needs Chromium with chromedriver and Graphviz"
	@echo "make coverage which lines the tests in tests/ reach"
	@echo "make mutants  whether the tests notice changes of the driver; MODULES=\"runtime/scheduling/order board/mmd\" for a part"
	@echo "make ledger   whether the tests of docs/descriptions fail when their statements no longer hold; ONLY=\"003.fill\" for a part"
	@echo "make wheels   the source distribution and a wheel for any Linux in dist/, tried in all kinds of Pythons;"
	@echo "              WHEEL_OPTIONS=\"--machine x86_64 --machine aarch64\" for both processors"
	@echo "make bench    speed, beside the bare engine and the other drivers here; writes docs/benchmarks.md, not with PAGE="
	@echo "make shapes   one small launch in thirty shapes of hosts, beside the bare engine; the same page"
	@echo "make programs programs that are installed here, beside the bare engine; the same page; PYTHON_OF_HOSTS=python"
	@echo "make help     this"

# An environment whose Python has gone, with an upgrade of the system, is made anew.
ifneq ($(wildcard $(STAMP)),)
ifneq ($(shell test -x $(BIN)/python && echo runs),runs)
$(shell mv $(STAMP) $(VENV)/.installing)
endif
endif

$(STAMP): pyproject.toml scripts/system-packages scripts/environment
	test -z "$(PYTHON)" || scripts/find-python
	scripts/system-packages build
	scripts/environment $(VENV)

fpgart/libfpgart.so: $(STAMP) $(DRIVER_SOURCES)
	$(BIN)/python build_icd.py

# Without an engine all is built all the same; what to install is said each time.
$(ENGINE): $(STAMP) scripts/engine-package | fpgart/libfpgart.so
	if scripts/engine-package $(BIN)/python; then touch $@; fi

# Where PYTHONDONTWRITEBYTECODE is set, every process would compile the driver's modules again: 0.2 s of each.
build: fpgart/libfpgart.so $(ENGINE)
	$(BIN)/python -m compileall -q fpgart

site: $(STAMP)
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --builder html docs build/site
	$(BIN)/sphinx-build --quiet --builder man docs build/site/man

demo: build
	$(BIN)/python examples/demo.py

# One worker more than processors: tests also wait for timers. Whoever has run out of tests takes some of another's.
WORKERS ?= $(shell expr $$(nproc) + 1)
PYTEST = $(BIN)/pytest --numprocesses $(WORKERS) --dist worksteal

test: build
	scripts/system-packages tests
	$(PYTEST) -m "not slow" tests
	$(PYTEST) -m "not slow" conformance --driver fpgart
	$(PYTEST) -m "not slow" conformance --driver pocl
	scripts/system-packages tests --list

# Goes on behind the runs that build/shake has.
LOADS ?= 1 4 12
shake: RUNS = 20
shake: build
	$(BIN)/python scripts/shake --runs $(RUNS) --loads $(LOADS) $(if $(TESTS),--tests $(TESTS)) $(if $(AGAIN),--again)

nightly: build
	scripts/system-packages tests
	FPGART_TEST_EFFORT=10 FPGART_TEST_SCHEDULES=15000 $(PYTEST) tests
	FPGART_TEST_EFFORT=10 $(PYTEST) conformance --driver fpgart
	FPGART_TEST_EFFORT=10 $(PYTEST) conformance --driver pocl
	$(MAKE) intel
	FPGART_ISOLATE=1 $(PYTEST) -m "not slow" conformance --driver fpgart
	$(MAKE) roots

# 125: this root cannot be made here, for the reason that was printed.
ROOTS ?= trixie ubuntu
roots:
	for suite in $(ROOTS); do scripts/fresh-root --suite $$suite "make demo && make test" || test $$? = 125 || exit 1; done

# An environment of its own: where it is installed beside PoCL, hosts find one platform more.
INTEL = build/intel
intel-engine: build
	scripts/intel-engine $(BIN)/python $(INTEL)

intel: intel-engine
	if test -e $(INTEL)/.installed; then \
		FPGART_ENGINE=$(abspath $(INTEL))/lib/libintelocl.so $(BIN)/pytest conformance/test_il.py --driver fpgart; fi

isolated: build
	FPGART_ISOLATE=1 $(PYTEST) -m "not slow" conformance --driver fpgart
	$(PYTEST) tests/test_isolation.py tests/test_isolation_protocol.py

# Checks have a handler of SIGSEGV. C carries no command while somebody hears of them, as the watchdog does, which says nothing here.
HANDLING = --deselect conformance/test_c_programs.py::test_what_belongs_to_the_host_process_stays_its_own
ways: build
	$(PYTEST) -m "not slow" conformance --driver fpgart
	mkdir -p build/ways
	FPGART_TRACE=$(abspath build/ways)/%p.json.gz FPGART_CHECK=all $(PYTEST) -m "not slow" conformance --driver fpgart $(HANDLING)
	FPGART_WATCHDOG=3600 $(PYTEST) -m "not slow" conformance --driver fpgart

served: build
	$(BIN)/python conformance/served.py -m "not slow"

check-remote: build
	POCLD=$(abspath $(POCLD)) $(BIN)/pytest tests/test_remote_engine.py

lint: build
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $(C_FILES)
	$(BIN)/python scripts/check_figures.py

docs-check: $(STAMP)
	$(BIN)/python scripts/check_figures.py

picture: build
	$(BIN)/python scripts/draw_imports.py . > docs/pictures/runtime-after.svg

gallery: build
	$(BIN)/python scripts/gallery.py

format: build
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(C_FILES)

# The page whose tables are written; PAGE= writes none.
PAGE ?= docs/benchmarks.md
WRITING = $(if $(PAGE),--page $(PAGE))
bench: build
	PYTHONPATH=scripts $(BIN)/python benchmarks/run.py $(WRITING)

shapes: build
	PYTHONPATH=scripts $(BIN)/python benchmarks/shapes.py $(WRITING)

PYTHON_OF_HOSTS ?= $(BIN)/python
programs: build
	PYTHONPATH=scripts $(BIN)/python benchmarks/programs.py --python $(PYTHON_OF_HOSTS) $(WRITING)

SECONDS ?= 300
RUNS ?= 100
soak: build
	$(CC) -O1 -Iinclude conformance/c/soak.c -o $(VENV)/soak -lOpenCL -lpthread
	$(BIN)/fpgart run --board usm_s10 -- $(VENV)/soak $(SECONDS)
	$(BIN)/fpgart run --board hetero -- $(VENV)/soak $(SECONDS) 2 8
	$(BIN)/python tests/killing.py $(SECONDS)
	$(BIN)/python conformance/repeat.py --runs $(RUNS) conformance/hosts.json
	$(BIN)/fpgart run --board usm_s10 -- $(BIN)/python conformance/fuzz.py --usm --after-release --threads 8 --seconds $(SECONDS)
	$(BIN)/fpgart run --board hetero -- $(BIN)/python conformance/fuzz.py --after-release --threads 8 --seconds $(SECONDS)
	$(BIN)/fpgart run --board hetero,usm_s10 -- $(BIN)/python conformance/fuzz_releases.py --seconds $(SECONDS)
	$(BIN)/fpgart run --isolate --board a10_ref -- $(BIN)/python conformance/fuzz_releases.py --seconds $(SECONDS)

BYTES ?= 10000000
CALLS ?= 50000
SEED ?= 1
fuzz: build
	PYTHONPATH=tests $(BIN)/python -m fuzzing --bytes $(BYTES) --seed $(SEED) $(FUZZ_OPTIONS)
	$(BIN)/python conformance/fuzz_calls.py fpgart/libfpgart.so --calls $(CALLS) --seed $(SEED) --patience 36000

# Memory grows with what a sanitizer keeps, so nothing can be said of leaks; and some tests have LD_PRELOAD of their own.
SANITIZED ?= conformance
UNSANITIZED = leaks_nothing or under_signals or without_any_environment or python_host_gets
SANITIZERS ?= address
sanitize: build
	for kind in $(SANITIZERS); do \
		scripts/sanitize $(abspath $(BIN))/python $$kind $(abspath $(BIN))/python -m pytest $(SANITIZED) --driver DRIVER \
			-m "not slow" -k "not ($(UNSANITIZED))" -p no:cacheprovider -q || exit 1; \
	done

LIBRARIES ?=
surroundings: build
	$(BIN)/python conformance/surroundings.py $(if $(LIBRARIES),--libraries $(LIBRARIES))

limits: build
	$(BIN)/python conformance/limits.py

SOURCES ?= build/sources
RECIPES ?= clients/recipes
CLIENTS ?=
# Goes on where it was interrupted; results are in build/engines/results.
ENGINES ?=
SUITES ?=
engines: build
	$(BIN)/python scripts/engines $(if $(ENGINES),--engines $(ENGINES)) $(if $(SUITES),--suites $(SUITES))

clients: build
	PYTHONPATH=scripts $(BIN)/python clients/run.py --recipes $(RECIPES) --sources $(SOURCES) $(if $(filter clients/recipes,$(RECIPES)),--page docs/programs.md) $(CLIENTS)

cts: build
	test -n "$(CTS)" || { echo "make cts CTS=folder: the folder of OpenCL-CTS, sources or what was built of them" >&2; exit 1; }
	$(BIN)/python conformance/cts.py $(CTS) $(CTS_OPTIONS)

original: build
	test -n "$(RUNTIME)" || { echo "make original RUNTIME=file: libalteracl.so, built as docs/mmd.md says" >&2; exit 1; }
	$(BIN)/python conformance/original.py $(RUNTIME)

coverage: build
	$(BIN)/pytest tests --cov=fpgart --cov-report=term-missing:skip-covered

# Goes on where it was broken off; what it knows is in build/mutants.
MODULES ?=
SAMPLE ?=
TESTS ?=
JOBS ?= $(shell nproc)
mutants: build
	$(BIN)/python scripts/mutants --jobs $(JOBS) $(if $(SAMPLE),--sample $(SAMPLE)) $(MODULES) $(if $(TESTS),--tests $(TESTS))

ledger: build
	$(BIN)/python scripts/ledger.py $(ONLY)

WHEEL_OPTIONS ?=
wheels: build
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[wheels]"
	$(BIN)/python scripts/wheels $(WHEEL_OPTIONS)

clean:
	rm -rf $(VENV) build dist *.egg-info fpgart/*.so fpgart/fpgart-board fpgart/*.a fpgart/c-host fpgart/interpreter.cfg fpgart/include
