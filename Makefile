# make run: set up and train on the embedded graph.  make test: set up and check everything.  make help: the rest.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL = $(BIN)/python -m pip install --disable-pip-version-check --constraint constraints.txt
MIRROR ?=
DEVICE ?= cpu
FUZZ_SECONDS ?= 600
HASHED ?=
SMALL := texas,wisconsin,cornell,actor,squirrel,chameleon,cora,citeseer,pubmed
ALL_MODELS = $(shell $(BIN)/glognn models --names | paste -sd , -)
NATIVE := $(wildcard src/glognn/native/*.cpp src/glognn/native/*.hpp) src/glognn/native/build.py
LOWEST := import tomllib; print(*(each.replace('>=', '==') for each in tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies']), sep='\n')
LOWEST_TESTS := tests/nn tests/data/test_npz.py tests/data/test_tables.py tests/models/test_contract.py tests/training/test_driver.py \
	tests/experiments/test_train_tables.py tests/experiments/test_search.py tests/cli/test_tables.py tests/report
SANITIZED := $(abspath $(VENV))/sanitized

.PHONY: help run test lint types tests docs docs-tables docs-notebooks docs-screenshots check-pages wheel native lock check-install check-lowest check-sanitizers check-kills check-writes fuzz check-scaling check-published check-table1 check-twins clean

help:
	@echo "make run              set up, then train GloGNN++, GloGNN and an MLP on the embedded graph (ARGS=... adds options)"
	@echo "make test             set up, then lint, types, tests, the site, and a run from the built wheel in a clean environment"
	@echo "make docs             build the site in build/site, warnings as errors, and check its links and its tables"
	@echo "make docs-tables      write the tables and pictures of numbers in documents anew from the committed records"
	@echo "make docs-notebooks   run the notebooks of docs/notebooks, and keep what they show (2 minutes)"
	@echo "make docs-screenshots draw what commands print, for the documents"
	@echo "make check-pages      open every page of the site in Chromium, and take pictures in build/screenshots (5 minutes)"
	@echo "make native           compile the native core where its source has changed, as 'run' and 'test' do too"
	@echo "make check-install    install the source archive without a compiler, then the wheel with the core, and train each (2 minutes)"
	@echo "make check-lowest     install the lowest versions that pyproject.toml allows (TORCH=... another PyTorch), and test"
	@echo "                      the main paths on them (5 minutes)"
	@echo "make check-sanitizers the tests of the native core with every address and all arithmetic checked (1 minute)"
	@echo "make check-kills      kill train, tune, reproduce, predict, save, explore and report 50 times each as they write, and"
	@echo "                      training runs 50 times at random epochs and while they write a checkpoint (10 minutes)"
	@echo "make check-writes     fill the disk at every step of the writing of the same commands, and go on (20 minutes)"
	@echo "make fuzz             damage every kind of file that is read, for FUZZ_SECONDS (600) seconds"
	@echo "make check-scaling    time of an epoch against two bare sparse products, 1e4 to 1e6 nodes (12 minutes)"
	@echo "make check-published  the authors' settings on the nine small datasets, from MIRROR=... or downloaded (50 minutes)"
	@echo "make check-table1     table 1 with an equal search for all models, in runs/equal; stop it and go on as you like"
	@echo "                      (DEVICE=cuda ARGS='--workers 15': about an hour on an H200; a CPU takes days)"
	@echo "make check-twins      generate and prepare twins of the six large datasets in full size (3 minutes)"
	@echo "make HASHED=1 ...     install only files whose sha256 is in requirements-dev.lock"
	@echo "make lock             write that file anew for the versions in constraints.txt (needs uv)"
	@echo "make clean            remove the environment and everything built"

$(VENV)/.created:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.run: $(VENV)/.created pyproject.toml constraints.txt
ifeq ($(HASHED),)
	$(INSTALL) --editable .
else
	$(BIN)/python -m pip install --disable-pip-version-check --require-hashes --requirement requirements-dev.lock
	$(BIN)/python -m pip install --disable-pip-version-check --no-deps --no-build-isolation --editable .
endif
	@touch $@

$(VENV)/.dev: $(VENV)/.run
ifeq ($(HASHED),)
	$(INSTALL) --editable ".[dev,docs]"
endif
	@touch $@

$(VENV)/.native: $(VENV)/.run $(NATIVE)
	-$(BIN)/python -m glognn.native.build
	@touch $@

run: $(VENV)/.native
	$(BIN)/glognn train --model glognn++ --model glognn --model mlp $(ARGS)

test: lint types tests docs check-sanitizers wheel

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy
	@if ! command -v node > /dev/null; then echo "No node: a user's script is checked by mypy alone."; else set -ex; \
	$(BIN)/pyright --pythonpath $(BIN)/python tests/documents/user_script.py; fi

tests: $(VENV)/.dev $(VENV)/.native
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal --durations 5

docs: $(VENV)/.dev
	$(BIN)/python -m documents.tables --check
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	$(BIN)/python -m documents.check build/site

check-pages: docs
	$(BIN)/python -m documents.screenshots build/site build/screenshots

docs-screenshots: $(VENV)/.dev $(VENV)/.native
	$(BIN)/python -m documents.screenshots --terminal

docs-notebooks: $(VENV)/.dev $(VENV)/.native
	$(BIN)/python -m documents.notebooks

docs-tables: $(VENV)/.dev
	$(BIN)/python -m documents.tables
	$(BIN)/python -m documents.pictures

wheel: $(VENV)/.dev
	rm -rf dist build/venv build/run
	$(BIN)/python -m build --wheel
	$(PYTHON) -m venv build/venv
	build/venv/bin/python -m pip install --disable-pip-version-check --constraint constraints.txt dist/*.whl
	cd build && venv/bin/glognn train --config published:texas --dataset pairs --splits 0 --epochs 20 --out run
	test -f build/run/DONE

native: $(VENV)/.run
	$(BIN)/python -m glognn.native.build

check-install: $(VENV)/.dev
	bash benchmarks/install.sh $(BIN)/python

check-lowest:
	rm -rf build/lowest
	$(PYTHON) -m venv build/lowest
	$(PYTHON) -c "$(LOWEST)" $(if $(TORCH),| sed 's/^torch==.*/torch==$(TORCH)/') > build/lowest/constraints.txt
	build/lowest/bin/python -m pip install --disable-pip-version-check --constraint build/lowest/constraints.txt \
		--editable . pytest hypothesis
	build/lowest/bin/python -m pytest $(LOWEST_TESTS)

lock:
	uv pip compile pyproject.toml --extra dev --extra docs --constraint constraints.txt --universal --python-version 3.11.5 \
		--generate-hashes --no-annotate --no-header --output-file requirements-dev.lock

check-sanitizers: $(VENV)/.dev
	@if ! command -v $(CXX) > /dev/null; then echo "Nothing to check: there is no compiler $(CXX)."; else set -ex; \
	CXX="$(CXX)" $(BIN)/python -m glognn.native.build --sanitize $(SANITIZED); \
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)" \
	ASAN_OPTIONS=detect_leaks=0 GLOGNN_NATIVE=$(SANITIZED) \
	$(BIN)/python -m pytest tests/native tests/training/test_native.py; fi

check-kills: $(VENV)/.dev
	GLOGNN_KILLS=50 $(BIN)/python -m pytest --numprocesses auto --dist worksteal tests/cli tests/experiments -k killed

check-writes: $(VENV)/.dev
	GLOGNN_WRITES=all $(BIN)/python -m pytest --numprocesses auto --dist worksteal tests/cli/test_writes.py

fuzz: $(VENV)/.dev $(VENV)/.native
	$(BIN)/python -m tests.fuzz --seconds $(FUZZ_SECONDS)

check-scaling: $(VENV)/.dev
	$(BIN)/python benchmarks/scaling.py

check-published: $(VENV)/.run
	$(BIN)/glognn reproduce table1 --models glognn,glognn++,glognn++-exact $(if $(MIRROR),--data-mirror $(MIRROR))

check-table1: $(VENV)/.run
	$(BIN)/glognn tune --model $(ALL_MODELS) --dataset $(SMALL) --trials 25 --sampler random --no-prune --no-keep-default --splits 0-2 \
		--epochs 400 --patience 100 --device $(DEVICE) --out runs/equal $(if $(MIRROR),--data-mirror $(MIRROR)) $(ARGS)
	$(BIN)/glognn reproduce table1 --settings runs/equal --seeds 0 --device $(DEVICE) $(if $(MIRROR),--data-mirror $(MIRROR))

check-twins: $(VENV)/.dev
	$(BIN)/python benchmarks/large_graphs.py --epochs 0

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache
