# .venv, the driver in it, and an engine.

.PHONY: clean

DRIVER_SOURCES = build_icd.py pyproject.toml setup.py \
                 $(shell find core icd include fpgart tests/checks -name '*.[ch]' -not -path 'fpgart/include/*' \
                                                              -o -path 'icd/entry/*.py')

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

clean:
	rm -rf $(VENV) build dist *.egg-info fpgart/*.so fpgart/fpgart-board fpgart/*.a fpgart/c-host fpgart/interpreter.cfg fpgart/include
