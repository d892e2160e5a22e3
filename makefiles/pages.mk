# The site, pictures, and packages.

.PHONY: site picture gallery wheels

site: $(STAMP)
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --builder html docs build/site
	$(BIN)/sphinx-build --quiet --builder man docs build/site/man

picture: build
	$(BIN)/python scripts/draw_imports.py . > docs/pictures/runtime.svg

gallery: build
	$(BIN)/python scripts/gallery.py

WHEEL_OPTIONS ?=
wheels: build
	$(BIN)/pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[wheels]"
	$(BIN)/python scripts/wheels $(WHEEL_OPTIONS)
