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

# Else each process of the tests would compile all of them again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := build
.PHONY: build demo help

include makefiles/environment.mk makefiles/tests.mk makefiles/checks.mk makefiles/measurements.mk makefiles/pages.mk

demo: build
	$(BIN)/python examples/demo.py

help:
	@echo "make demo     build everything, run a C host and a pyopencl host on the simulated board"
	@echo "make test     the tests, Python and conformance, but for the slow ones; WORKERS=8 for more at once"
	@echo "make shake    the tests RUNS=20 times in random orders, at LOADS=\"1 4 12\"; TESTS=tests/runtime/memory/test_usm_allocations.py for a part; AGAIN=1 from the start"
	@echo "make nightly  all tests, ten times the random examples and schedules, and those for Intel's engine"
	@echo "make roots    both commands of the README in new roots of Debian 13 and the newest Ubuntu; ROOTS=bookworm for others"
	@echo "make intel    the tests that PoCL cannot run, on Intel's engine, which is downloaded into build/intel (810 MB)"
	@echo "make sycl     SYCL programs with Intel's packages, which are downloaded into build/sycl (2 GB), and clang++"
	@echo "make isolated the conformance tests with kernels in a process of their own, and what they may do wrong there"
	@echo "make ways     the conformance tests as they are, with traces, with checks, with both, and with every command decided by Python"
	@echo "make locks    the conformance tests and those of the driver's rooms, while the order in which C takes locks is checked"
	@echo "make served   the conformance tests on the boards of a service"
	@echo "make check-remote POCLD=folder  kernels through PoCL's remote driver and a server on this machine; docs/clusters.md"
	@echo "make lint     format, types, layers, words"
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
	@echo "make picture  docs/pictures/runtime.svg: which modules of the runtime import each other; needs Graphviz"
	@echo "make gallery  the pictures of docs/gallery.md; needs Chromium with chromedriver and Graphviz"
	@echo "make coverage which lines the tests in tests/ reach"
	@echo "make mutants  whether the tests notice changes of the driver; MODULES=\"kernels runtime/scheduling/order core/wait.c\" for a part,"
	@echo "              SAMPLE=3 for three changes of each module"
	@echo "make ledger   whether the tests of docs/descriptions fail when their statements no longer hold; ONLY=\"003.fill\" for a part"
	@echo "make wheels   the source distribution and a wheel for any Linux in dist/, tried in all kinds of Pythons;"
	@echo "              WHEEL_OPTIONS=\"--machine x86_64 --machine aarch64\" for both processors"
	@echo "make bench    speed, beside the bare engine and the other drivers here; writes docs/benchmarks.md, not with PAGE="
	@echo "make shapes   one small launch in 52 shapes of hosts, beside the bare engine; the same page"
	@echo "make random-shapes  random loops of commands, beside the bare engine; the same page; SEED=1000 HOSTS=100 for other ones"
	@echo "make programs programs that are installed here, beside the bare engine; the same page; PYTHON_OF_HOSTS=python"
	@echo "make help     this"
