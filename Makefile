# The front door. It needs Python 3.11 or newer, git and make; everything else it fetches itself.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

BIN := .venv/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
RELEASE_BIN := .venv-release/$(notdir $(BIN))
# Names the Python that makes .venv; the first good one on PATH if unset.
PYTHON ?=
export PYTHON
# Test processes side by side: more than two cores can do at once, for much of their time is spent
# in waiting for what they start. 0 runs them in this one, for a debugger.
WORKERS ?= 3
# Other words for pytest, as in: make test ARGS='tests/unit -k breaker'
ARGS ?=
# How often a failed test is run again before it counts as failed; CI grants one.
RERUNS ?= 0
# A folder in memory for the thousands of small files that tests write and sync, where the system
# has one with room in it, from which programs may be started.
IN_MEMORY = $(shell file=$$(mktemp /dev/shm/ralph-XXXXXX 2>/dev/null) && printf '#!/bin/sh\n' >"$$file" \
	&& chmod +x "$$file" && "$$file" 2>/dev/null \
	&& df -Pk /dev/shm | awk 'NR == 2 && $$4 > 2000000 { print "/dev/shm" }'; rm -f "$$file")
# Which agents `make agents` runs; all of them if unset.
AGENTS ?=
ALL_AGENTS = $(shell $(BIN)/python -c 'from ralph_ls.protocol.config.agent_catalog import \
	ACP_VARIANTS, CATALOG; print(*CATALOG, *ACP_VARIANTS)')
# How long `make sweep` looks; the quick form of CI if unset. SEED and ONLY=kills:7 repeat a case.
MINUTES ?=
SEED ?=
ONLY ?=
# The release that `make release` makes, and that `make release-check` is to find.
VERSION ?=
# Where `make demo` puts its project; a scratch folder if unset.
DIR ?=

# Tests start our program hundreds of times; compiling it again each time would take half of theirs.
export PYTHONDONTWRITEBYTECODE :=

READY := .venv/.set-up
# The extension's packages, exactly those of its lock, by the Node that .venv brings along.
CLIENT_READY := client-vscode/node_modules/.package-lock.json
# What looks at workflows and releases: nobody needs it to run the tests.
RELEASE_READY := .venv-release/.set-up
WITH_NODE := $(BIN)/python client-vscode/scripts/with_node.py
NPM := $(WITH_NODE) npm --prefix client-vscode

.PHONY: help demo test check format-check lint types imports generated gates-check prose client workflows fix gates generate bench \
	mutants sweep e2e agents vsix docs build changelog release-check release publish-extension lock clean

help: ## show this
	@awk -F ':.*## ' '/^[a-z][a-z0-9-]*:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

demo: $(READY) ## set up, then watch a whole loop repair a small project (DIR=folder)
	@$(BIN)/ralph demo $(if $(DIR),"$(DIR)")

# Coverage is measured in one process beside the others, by quick tests with known inputs alone
# (tests/conftest.py marks them): the core by its own tests, the other packages by theirs.
# To measure all tests, or several processes, would double the time. That process ends before the
# others; the client's tests, which take seconds, follow it.
MEASURED = $(BIN)/python -m pytest -n 0 --reruns $(RERUNS) -m measured --cov-report=
test: export TMPDIR := $(or $(TMPDIR),$(IN_MEMORY),/tmp)
test: $(READY) $(CLIENT_READY) ## run all tests but e2e; coverage of each package may only improve
ifneq ($(strip $(ARGS)),)
	@$(BIN)/python -m pytest -n $(WORKERS) --reruns $(RERUNS) $(ARGS)
else
	@set -e; data=$$(mktemp -d); trap 'rm -rf "$$data"' EXIT; \
	export COVERAGE_FILE="$$data/coverage"; \
	{ $(MEASURED) --cov=ralph_ls.core tests/unit/core && \
	$(BIN)/python -m coverage report --include='*/ralph_ls/core/*' --fail-under=100 && \
	export COVERAGE_FILE="$$data/coverage-of-others" && \
	$(MEASURED) $(addprefix --cov=ralph_ls.,cli editor engine protocol store) \
		--ignore=tests/unit/core tests/unit tests/editor tests/engine && \
	$(BIN)/python .ci/gates.py --coverage "$$COVERAGE_FILE" && \
	$(NPM) run --silent test -- --retry=$(RERUNS); \
	} >"$$data/measured" 2>&1 & measured=$$!; \
	others=0; $(BIN)/python -m pytest -n $(WORKERS) --reruns $(RERUNS) -m "not measured" || others=$$?; \
	core=0; wait $$measured || core=$$?; cat "$$data/measured"; \
	test $$core$$others = 00
endif

check: format-check lint types imports generated gates-check prose client workflows ## look at everything without running it

format-check: $(READY)
	@$(BIN)/ruff format --check .

lint: $(READY)
	@$(BIN)/ruff check .

types: $(READY)
	@$(BIN)/mypy
	@$(BIN)/pyright

imports: $(READY)
	@$(BIN)/lint-imports --no-logo

# Words, modules, complexity and unused names, compared with .ci/gates.toml.
gates-check: $(READY)
	@$(BIN)/python .ci/gates.py

# Texts for users, compared with .ci/phrases.json by textlint.
prose: $(CLIENT_READY)
	@$(BIN)/python .ci/gates.py --prose

generated: $(READY)
	@$(BIN)/python schemas/generate.py --check

client: $(CLIENT_READY)
	@$(NPM) run --silent check

# Workflows, forms and the Containerfile, offline: none of them can run on a desk.
SCHEMA = $(RELEASE_BIN)/check-jsonschema --quiet --builtin-schema vendor
workflows: $(RELEASE_READY)
	@$(RELEASE_BIN)/zizmor --offline --quiet --no-progress .github
	@$(SCHEMA).github-workflows .github/workflows/*.yml
	@$(SCHEMA).dependabot .github/dependabot.yml
	@$(SCHEMA).github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/idea.yml
	@$(RELEASE_BIN)/hadolint Containerfile

fix: $(READY) $(CLIENT_READY) ## format, and fix what the linters can fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format --quiet .
	@$(NPM) run --silent fix

gates: $(CLIENT_READY) ## write the figures of .ci/gates.toml that improved
	@$(BIN)/python .ci/gates.py --update
	@$(BIN)/python .ci/gates.py --update --prose

generate: $(CLIENT_READY) ## write the schemas again from the protocol, and the dashboard's page
	@$(BIN)/python schemas/generate.py --write
	@$(WITH_NODE) node client-vscode/scripts/page.mjs --write

bench: $(READY) ## measure, and print the ratios
	@$(BIN)/python -m tests.bench

mutants: export TMPDIR := $(or $(TMPDIR),$(IN_MEMORY),/tmp)
mutants: $(READY) ## change the rules in small ways; list what no test minds
	@$(BIN)/python -m tests.mutants $(ARGS)

sweep: export TMPDIR := $(or $(TMPDIR),$(IN_MEMORY),/tmp)
sweep: $(READY) ## kill, attack and fuzz the whole program (MINUTES=60; a minute if unset)
	@$(BIN)/python -m tests.sweep $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) \
		$(if $(ONLY),--only $(ONLY))

E2E = $(BIN)/python -m pytest -p no:randomly -n 0
# What failed last is known of each of the two.
FLEETS = $(E2E) -o cache_dir=.pytest_cache/fleets tests/fleet
e2e: $(READY) $(CLIENT_READY) ## drive a real VS Code, real agents and tools (1.1 GB, once)
	@$(BIN)/python tests/e2e/vscode/install.py
ifneq ($(strip $(ARGS)),)
	@# pytest ends with 5 where it has nothing to run.
	@others=0; $(E2E) tests/e2e $(ARGS) || others=$$?; \
	fleets=0; $(FLEETS) $(ARGS) || fleets=$$?; \
	case $$others$$fleets in 00|05|50) ;; *) exit 1 ;; esac
else
	@# Fleets wait for leases most of the time, and have ended before the editors start.
	@set -e; log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	$(FLEETS) >"$$log" 2>&1 & beside=$$!; \
	others=0; $(E2E) tests/e2e || others=$$?; \
	fleets=0; wait $$beside || fleets=$$?; cat "$$log"; \
	test $$others$$fleets = 00
endif

agents: $(READY) ## run every real agent there is, and record what each prints (3 GB, once)
	@status=0; \
	RALPH_E2E_AGENTS="$(or $(AGENTS),$(ALL_AGENTS))" \
		$(BIN)/python -m pytest -p no:randomly -n 0 tests/e2e/test_agents.py \
		$(wildcard tests/e2e/test_acp.py) $(ARGS) || status=$$?; \
	$(BIN)/python -m tests.e2e.recordings $(AGENTS) && exit $$status

# With the wheels of this machine: it then installs without a network.
vsix: $(READY) $(CLIENT_READY) ## make the VS Code extension for this machine, the server inside, in dist/ (PRE_RELEASE=1)
	@$(WITH_NODE) node client-vscode/scripts/package.mjs --with-dependencies $(if $(PRE_RELEASE),--pre-release)

docs: $(READY) ## build the documentation site in dist/site (104 MB, once)
	@$(BIN)/python .ci/docs.py

build: $(READY) ## make the wheel and the source archive in dist/
	@rm -rf dist
	@$(BIN)/python -m hatchling build

changelog: $(READY) ## show what the next release would say
	@$(BIN)/towncrier build --draft

release-check: $(READY) $(RELEASE_READY) ## build and install all that a release holds
	@$(BIN)/python .ci/artifacts.py $(if $(VERSION),--release "$(VERSION)")

release: $(READY) $(RELEASE_READY) ## commit and tag a release (VERSION=1.2.3); nothing is pushed
	@$(BIN)/python .ci/release.py "$(VERSION)"

# For the workflow alone, which has the token: it uploads what `make release-check` left in dist/.
publish-extension: $(READY) $(CLIENT_READY)
	@test -n "$$VSCE_PAT" || { echo "VSCE_PAT is not set: only the release workflow publishes" >&2; exit 1; }
	@for file in dist/*.vsix; do \
		$(WITH_NODE) node client-vscode/node_modules/@vscode/vsce/vsce publish --packagePath "$$file" || exit; \
	done

LOCK = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --quiet \
	$(if $(UPGRADE),--upgrade)
lock: $(READY) ## pin every dependency again (UPGRADE=1: at its newest release)
	@$(LOCK) pyproject.toml --group dev --output-file requirements.lock
	@$(LOCK) --group pyproject.toml:docs --output-file .ci/docs.lock
	@$(LOCK) --group pyproject.toml:release --output-file .ci/release.lock
	@$(LOCK) --group pyproject.toml:plan-tools --output-file tests/e2e/plan_tools/requirements.lock

clean: ## remove .venv and everything that tools left behind
	@rm -rf .venv .venv-* dist .coverage .coverage.* htmlcov .hypothesis .import_linter_cache \
		.mypy_cache .pytest_cache .ruff_cache client-vscode/node_modules client-vscode/dist
	@find server tests schemas -name __pycache__ -type d -prune -exec rm -rf {} +

$(CLIENT_READY): client-vscode/package-lock.json | $(READY)
	@$(NPM) ci --silent --no-audit --no-fund
	@touch $@

$(RELEASE_READY): .ci/release.lock | $(READY)
	@$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-release
	@$(BIN)/uv pip install --quiet --python .venv-release --require-hashes --requirement .ci/release.lock
	@touch $@

$(READY): requirements.lock pyproject.toml .ci/set_up.py
	@python=$$(sh .ci/find-python) && "$$python" .ci/set_up.py
