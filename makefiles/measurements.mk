# Speed, and programs that others wrote; each writes its page in docs/.

.PHONY: bench shapes random-shapes programs engines clients cts original

# The page whose tables are written; PAGE= writes none.
PAGE ?= docs/benchmarks.md
WRITING = $(if $(PAGE),--page $(PAGE))
bench: build
	PYTHONPATH=scripts $(BIN)/python benchmarks/run.py $(WRITING)

shapes: build
	PYTHONPATH=scripts $(BIN)/python benchmarks/shapes.py $(if $(BOARD),--board $(BOARD)) $(WRITING)

random-shapes: build
	PYTHONPATH=scripts $(BIN)/python benchmarks/random_shapes.py --seed $(SEED) $(if $(HOSTS),--hosts $(HOSTS)) $(if $(BOARD),--board $(BOARD)) $(WRITING)

PYTHON_OF_HOSTS ?= $(BIN)/python
programs: build
	PYTHONPATH=scripts $(BIN)/python benchmarks/programs.py --python $(PYTHON_OF_HOSTS) $(WRITING)

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
