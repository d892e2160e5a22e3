# Tests, from the quick ones to those that take hours.

.PHONY: fuzz test shake nightly roots intel-engine intel isolated served ways check-remote soak sanitize surroundings limits sycl locks

# Two workers more than processors: tests also wait for other processes. Whoever has run out of tests takes some of another's.
WORKERS ?= $(shell expr $$(nproc) + 2)
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

# An environment of its own: Intel's packages beside the driver would be the engine of other tests, too.
SYCL = build/sycl
sycl: build
	scripts/system-packages sycl
	test -e $(SYCL)/.installed || scripts/environment $(SYCL) test,pocl,sycl
	$(SYCL)/bin/pytest --numprocesses $(WORKERS) --dist worksteal tests/sycl

# An environment of its own: where it is installed beside PoCL, hosts find one platform more.
INTEL = build/intel
intel-engine: build
	scripts/intel-engine $(BIN)/python $(INTEL)

intel: intel-engine
	if test -e $(INTEL)/.installed; then \
		FPGART_ENGINE=$(abspath $(INTEL))/lib/libintelocl.so $(BIN)/pytest conformance/test_il.py --driver fpgart; fi

isolated: build
	FPGART_ISOLATE=1 $(PYTEST) -m "not slow" conformance --driver fpgart
	$(PYTEST) tests/engine/test_isolation.py tests/engine/test_isolation_protocol.py

# Checks have a handler of SIGSEGV. C carries launches with traces or with checks, none with both, and no command while another watcher
# hears of them, as the watchdog does, which says nothing here.
HANDLING = --deselect conformance/test_c_programs.py::test_what_belongs_to_the_host_process_stays_its_own
ways: build
	$(PYTEST) -m "not slow" conformance --driver fpgart
	mkdir -p build/ways
	FPGART_TRACE=$(abspath build/ways)/%p.json.gz $(PYTEST) -m "not slow" conformance --driver fpgart
	FPGART_CHECK=all $(PYTEST) -m "not slow" conformance --driver fpgart $(HANDLING)
	FPGART_TRACE=$(abspath build/ways)/%p.json.gz FPGART_CHECK=all $(PYTEST) -m "not slow" conformance --driver fpgart $(HANDLING)
	FPGART_WATCHDOG=3600 $(PYTEST) -m "not slow" conformance --driver fpgart

# The order in which C takes locks: in one process, with a board process, and with checks, which have locks of their own.
IN_ORDER = $(BIN)/python tests/lock_order.py $(PYTEST) -m "not slow"
LOCKED ?= tests/channels tests/check tests/core tests/engine tests/icd
locks: build
	$(IN_ORDER) conformance --driver fpgart
	FPGART_ISOLATE=1 $(IN_ORDER) conformance --driver fpgart
	FPGART_CHECK=all $(IN_ORDER) conformance --driver fpgart $(HANDLING)
	$(IN_ORDER) $(LOCKED)

served: build
	$(BIN)/python conformance/served.py -m "not slow"

check-remote: build
	POCLD=$(abspath $(POCLD)) $(BIN)/pytest tests/engine/test_remote_engine.py

SECONDS ?= 300
RUNS ?= 100
soak: build
	$(CC) -O1 -Iinclude conformance/c/soak.c -o $(VENV)/soak -lOpenCL -lpthread
	$(BIN)/fpgart run --board usm_s10 -- $(VENV)/soak $(SECONDS)
	$(BIN)/fpgart run --board hetero -- $(VENV)/soak $(SECONDS) 2 8
	$(BIN)/python tests/killing.py $(SECONDS)
	$(BIN)/python conformance/repeat.py --runs $(RUNS) conformance/hosts.json
	$(BIN)/fpgart run --board usm_s10 -- $(BIN)/python conformance/fuzz.py --usm --after-release --threads 8 --seconds $(SECONDS)
	$(BIN)/fpgart run --board hetero,usm_s10 -- $(BIN)/python conformance/fuzz.py --after-release --threads 8 --seconds $(SECONDS)
	$(BIN)/fpgart run --board hetero,usm_s10 -- $(BIN)/python conformance/fuzz_releases.py --seconds $(SECONDS)
	$(BIN)/fpgart run --isolate --board a10_ref -- $(BIN)/python conformance/fuzz_releases.py --seconds $(SECONDS)

BYTES ?= 10000000
CALLS ?= 50000
SEED ?= 1
fuzz: build
	PYTHONPATH=tests $(BIN)/python -m fuzzing --bytes $(BYTES) --seed $(SEED) $(FUZZ_OPTIONS)
	$(BIN)/python conformance/fuzz_calls.py fpgart/libfpgart.so --calls $(CALLS) --seed $(SEED) --patience 36000

# Memory grows with what a sanitizer keeps, so nothing can be said of leaks; some tests have LD_PRELOAD of their own; and
# some use `fpgart run`, which preloads functions for locks that ThreadSanitizer does not know.
SANITIZED ?= conformance
UNSANITIZED = leaks_nothing or under_signals or without_any_environment or python_host_gets or test_sycl or from_python
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
