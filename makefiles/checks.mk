# Whether the sources are well formed, and whether the tests notice changes of them.

.PHONY: lint docs-check format coverage mutants ledger

FORMATTED = core icd fpgart conformance tests examples benchmarks clients include/aocl_mmd.h
SPELLED = core icd fpgart scripts benchmarks clients examples docs README.md CONTRIBUTING.md CHANGELOG.md
C_FILES = find $(FORMATTED) -name '*.[ch]' -not -path 'fpgart/include/*' -o -name '*.cpp' -path 'examples/intel-host/*'

lint: build
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(C_FILES) | xargs $(BIN)/clang-format --dry-run --Werror
	$(BIN)/codespell -D - -D docs/dev/words.txt $(SPELLED)
	$(BIN)/python scripts/check_figures.py

docs-check: $(STAMP)
	$(BIN)/python scripts/check_figures.py

format: build
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(C_FILES) | xargs $(BIN)/clang-format -i

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
