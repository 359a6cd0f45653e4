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
DEV := $(VENV)/.dev $(LINKS)
BENCH := $(VENV)/.bench $(LINKS)

.DEFAULT_GOAL := help
# The links come after what they need, and the output of the checks stays in order.
.NOTPARALLEL:
.PHONY: help venv test lint types unit format demo dev bench soak clean

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

format: $(DEV) ## Rewrite the sources to the house format
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

demo: $(RUNTIME) ## See an agent work on files: no key, no network
	$(BIN)/python -m langgraph_filesystem.demo

# With this environment the server connects to nobody. It keeps threads and memories below the
# directory that it runs in.
OFFLINE := LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=true LANGSMITH_TRACING=false
SERVE_IN ?= .
# Chosen here, as the server takes another one without a word when 2024 is in use.
FREE_PORT := import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])

dev: $(DEV) ## Start a LangGraph server, and say how to open it in Studio
	@port=$${PORT:-$$($(BIN)/python -c '$(FREE_PORT)')}; url=http://127.0.0.1:$$port; \
	echo "server: $$url"; \
	echo "Studio: https://smith.langchain.com/studio/?baseUrl=$$url"; \
	cd $(SERVE_IN) && exec env $(OFFLINE) $(abspath $(BIN))/langgraph dev --no-browser --no-reload \
		--n-jobs-per-worker 10 --config $(abspath langgraph.json) --port $$port

bench: $(BENCH) ## Measure against the peers
	$(BIN)/python -m tests.benchmarks

soak: $(DEV) ## Run the long tests: random faults, many runs
	$(BIN)/python -m pytest -q -m soak

clean: ## Remove .venv and everything that was built
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .langgraph_api
	find graph nodes state tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/pip:
	$(PYTHON) -m venv $(VENV)

# $(call with,extras): the package and what it needs with these extras.
define with
$(INSTALL) setuptools
$(EDITABLE) -e '.$(1)'
@touch $(VENV)/.runtime $@
endef

$(VENV)/.runtime: pyproject.toml constraints.txt | $(BIN)/pip
	$(call with)

$(VENV)/.dev: pyproject.toml constraints.txt | $(BIN)/pip
	$(call with,[dev])

$(VENV)/.bench: pyproject.toml constraints.txt | $(BIN)/pip
	$(call with,[bench])

$(LINKS):
	$(EDITABLE) --no-deps -e .
	@rm -f $(VENV)/.links-*
	@touch $@
