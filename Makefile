# Everything runs in .venv; a fresh machine needs Python 3.11 or newer and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DATA   ?= ../shared/data

MINUTES ?= 10
SEED   ?= 1

# Without bytecode each run reads all tests anew, and each process all modules changed since setup.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo test pytest record soak clients firefox drill release-check lint bench bench-million eval lock clean

setup: $(VENV)/.ready

# The lock holds names, versions and hashes; the registry is whichever pip is set up for. The two that
# are uninstalled are former names: an older .venv holds them, and with them a second `recollect`.
$(VENV)/.ready: requirements-dev.lock pyproject.toml multilingual/pyproject.toml postgres/pyproject.toml evaluation/pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip uninstall --quiet --yes recollect recollect-multilingual
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation \
	    --editable . --editable multilingual --editable postgres --editable evaluation
	$(BIN)/python -m compileall -q src postgres/src evaluation/src
	touch $@

demo: setup
	$(BIN)/recollect demo

# Both at once: neither keeps two cores busy to its end.
test: setup
	$(MAKE) --no-print-directory --jobs 2 lint pytest

pytest: setup
	$(BIN)/python -m pytest --processes 5 --durations 10

# Rewrites tests/recorded/answers with what the calls answer now, and prints what has changed.
record: setup
	RECORD=yes $(BIN)/python -m pytest -q -s tests/recorded

# Kills, damage and odd input for that long; a failure names the seed that shows it again.
soak: setup
	PYTHONPATH=tests:tests/contract:tests/http:tests/properties:tests/soak:tests/unit/store \
	    $(BIN)/python tests/soak/soak.py --minutes $(MINUTES) --seed $(SEED)

# The real clients, from npm: what package-lock.json pins, checked by its hashes. Not `npm ci`, which
# refuses a lock without the optional parts for other systems, and not every registry has those.
clients: setup .clients/.ready
	PYTHONPATH=tests/clients $(BIN)/python tests/clients/run.py $(ARGS)

.clients/.ready: tests/clients/package.json tests/clients/package-lock.json tests/clients/driver.mjs
	mkdir -p .clients
	cp $^ .clients
	cd .clients && npm install --no-audit --no-fund
	touch $@

firefox: setup
	FIREFOX=yes $(BIN)/python -m pytest tests/browser/test_browser_firefox.py -q

# Three PostgreSQL nodes that fail one after another; Patroni from PyPI, etcd from PATH or Debian.
drill: setup .drill/.ready
	$(BIN)/python postgres/drill/drill.py $(ARGS)

.drill/.ready: postgres/drill/requirements.txt
	$(PYTHON) -m venv .drill/venv
	.drill/venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r $<
	command -v etcd || (cd .drill && apt-get download etcd-server && dpkg -x etcd-server_*.deb etcd)
	touch $@

# Builds what a release would be, installs it in fresh environments, and tries it.
release-check: setup
	$(BIN)/python tests/release/release_check.py $(ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup
	$(BIN)/python benchmarks/bench_startup.py --data $(DATA)
	$(BIN)/python benchmarks/bench_find.py --data $(DATA)
	$(BIN)/python benchmarks/bench_hooks.py --data $(DATA)
	$(BIN)/python benchmarks/bench_search.py --data $(DATA)
	$(BIN)/python benchmarks/bench_import.py --data $(DATA)
	$(BIN)/python benchmarks/bench_vectors.py --data $(DATA)
	$(BIN)/python benchmarks/bench_models.py --data $(DATA)
	$(BIN)/python benchmarks/bench_blend.py --data $(DATA)
	$(BIN)/python benchmarks/bench_serving.py --data $(DATA)
	$(BIN)/python benchmarks/bench_page.py --data $(DATA)
	$(BIN)/python benchmarks/bench_locked.py
	$(BIN)/python benchmarks/bench_history.py
	$(BIN)/python benchmarks/bench_secrets.py
	$(BIN)/python benchmarks/bench_capture.py
	$(BIN)/python benchmarks/bench_folders.py
	$(BIN)/python benchmarks/bench_counts.py
	$(BIN)/python benchmarks/bench_duplicates.py --data $(DATA)
	$(BIN)/python benchmarks/bench_as_of.py --data $(DATA)
	$(BIN)/python benchmarks/bench_similar.py --data $(DATA)
	$(BIN)/python benchmarks/bench_mcp_tokens.py --data $(DATA)

# A million memories: some hours the first time, which embeds a hundred thousand passages.
bench-million: setup
	$(BIN)/python benchmarks/bench_vectors.py --data $(DATA) --passages 1000000 --memory
	$(BIN)/python benchmarks/bench_search.py --data $(DATA) --million
	$(BIN)/python benchmarks/bench_counts.py --memories 1000000

# Its data must be named, other than bench's: it says which they are. ARGS: see quality.py --help.
eval: setup
	@$(BIN)/python benchmarks/quality.py $(if $(filter file,$(origin DATA)),,--data "$(DATA)") $(ARGS)

# Needs uv; run after changing the dependencies in pyproject.toml.
lock:
	uv pip compile pyproject.toml --group dev --extra code --extra documents --universal --python-version 3.11 \
	    --generate-hashes --no-header --no-emit-index-url --output-file requirements-dev.lock

clean:
	rm -rf $(VENV) .clients .drill .mypy_cache .ruff_cache .pytest_cache
