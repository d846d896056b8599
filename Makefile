# The everyday commands; `make help` lists them. Everything runs in .venv, which make builds from requirements.lock and
# rebuilds when the lock changes. To build it with another Python: `make distclean`, then `make test PYTHON=python3.12`.

PYTHON  ?= python3
CORES   ?= all
SEED    ?=
WORKERS ?= 2
ARGS    ?=
SWEEP   ?= config/sweeps/rank.yaml
PRESET  ?=

VENV := .venv
PY   := $(VENV)/bin/python
PIP   = $(PY) -m pip --no-input --quiet --quiet

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PYTHONNOUSERSITE := 1
unexport PYTHONPATH PYTHONHOME

# A stamp is named after the content that it was made from and written last: an interrupted, outdated, copied or moved
# .venv has no stamp of the right name and is made again.
LOCKED    := $(VENV)/.locked-$(shell { pwd; cat requirements.lock; } | cksum | tr ' ' -)
INSTALLED := $(VENV)/.installed-$(shell { cat pyproject.toml src/rftune/__init__.py; } | cksum | tr ' ' -)

IN_VENV    = PATH="$$PWD/$(VENV)/bin:$$PATH"
SNAKEMAKE  = $(IN_VENV) $(PY) -m snakemake
# At a terminal a bar per stage; elsewhere, as in a log of a build server, Snakemake's lines.
BARS      := $(shell test -t 2 && echo --logger rftune)
RUN        = $(if $(SEED),--config seed=$(SEED)) --workflow-profile workflow/profiles/default $(BARS) --cores $(CORES) $(ARGS)
# What is timed runs first and alone (see workflow/Snakefile), then everything else on all cores.
define run_all
@echo "First what is timed, alone on the machine; then the rest."
@$(SNAKEMAKE) timed $(1) $(RUN)
@$(SNAKEMAKE) $(1) $(RUN)
endef
SWEEP_NAME = $(notdir $(basename $(SWEEP)))
# The closing words of a run: what agrees with the paper, and where to read it.
SUMMARY    = $(PY) workflow/scripts/summary.py
ONE_THREAD = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help reproduce paper paper-full check-reference sweep test slurm-test faults setup lint pytest format bench resources \
	documents hooks lock clean distclean

help:  ## this list
	@echo "usage: make TARGET [NAME=value ...]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' Makefile
	@echo "  CORES=n SEED=n    for reproduce, paper, paper-full and sweep (all cores, the config's seed)"
	@echo "  SWEEP=file        for sweep (config/sweeps/rank.yaml); PRESET=config/quick.yaml: its quick form"
	@echo "  WORKERS=n         for test and pytest (2)"
	@echo "  ARGS='...'        passed on to snakemake, pytest or the benchmark"
	@echo "  PYTHON=python3.12 the Python that .venv is made with (python3)"

reproduce: $(INSTALLED)  ## all figures and tables with the quick preset (minutes on two cores)
	$(call run_all,--configfile config/quick.yaml)
	@$(SUMMARY) results/quick

paper: $(INSTALLED)  ## all figures and tables with the paper's settings
	$(call run_all)
	@$(SUMMARY) results/paper

paper-full: $(INSTALLED)  ## the same with every repeat that the paper has; resumable
	$(call run_all,--configfile config/full.yaml)
	@$(SUMMARY) results/full

check-reference: $(INSTALLED)  ## whether results/paper is what the present settings and code would make
	@$(PY) workflow/scripts/check_reference.py results/paper

sweep: $(INSTALLED)  ## settings varied, a table and a picture: make sweep SWEEP=config/sweeps/rank.yaml
	@test -f '$(or $(PRESET),Makefile)' || \
		{ echo "There is no preset $(PRESET): name a file such as PRESET=config/quick.yaml" >&2; exit 1; }
	@$(SNAKEMAKE) sweep $(if $(PRESET),--configfile $(PRESET)) $(RUN) --config sweep=$(SWEEP) $(if $(SEED),seed=$(SEED))
	@if made=$$(ls results/*/sweeps/$(SWEEP_NAME)/*.csv results/*/sweeps/$(SWEEP_NAME)/*.png 2>/dev/null); then \
		echo "The table (also as parquet) and the picture (also as pdf):"; echo "$$made" | sed 's/^/  /'; fi

test: lint pytest  ## every check and every test

setup: $(INSTALLED)  ## build .venv (the other targets do it when needed)

lint: $(INSTALLED)  ## ruff, mypy, snakefmt and snakemake's own lint
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -m snakefmt --check Snakefile workflow
	$(SNAKEMAKE) --lint

# Whole files go to a worker, so that what a file's tests share is made once.
pytest: $(INSTALLED)  ## the tests alone; one of them: make pytest WORKERS=0 ARGS='-k transform'
	$(IN_VENV) $(ONE_THREAD) $(PY) -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

slurm-test: $(INSTALLED)  ## the workflow on a real Slurm, installed (Debian, as root) and started for this test
	@$(IN_VENV) $(PY) tests/workflow/run_on_slurm.py $(ARGS)

faults: $(INSTALLED)  ## a hundred random kills, a thousand changed configs, 300 changed data files: nothing lost, no surprise
	@$(IN_VENV) $(ONE_THREAD) PYTHONPATH=tests $(PY) tests/workflow/run_faults.py $(ARGS)

format: $(INSTALLED)  ## let ruff and snakefmt rewrite the files
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(PY) -m snakefmt Snakefile workflow

bench: $(INSTALLED)  ## speed and scaling on this machine
	@$(PY) benchmarks/run.py $(ARGS)

resources: $(INSTALLED)  ## config/resources.yaml, what clusters are asked for, from the benchmark files of finished runs
	@$(PY) benchmarks/resources.py $(ARGS)

documents: $(INSTALLED)  ## the settings, their schema, the targets and the claims, written from the code
	@$(PY) -m rftune.workflow.documents

hooks: $(INSTALLED)  ## check every commit before it is made (pre-commit)
	@$(PY) -m pre_commit install

lock:  ## make requirements.lock anew from pyproject.toml (needs Python 3.11, the oldest supported)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
		{ echo "The lock is made with Python 3.11: make lock PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv --clear .lock
	@.lock/bin/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb")); \
		print(*project["build-system"]["requires"], *project["project"]["dependencies"], \
		*project["project"]["optional-dependencies"]["test"], sep="\n")' > .lock/direct.txt
	@echo "Resolving in a fresh environment ..."
	@.lock/bin/python -m pip --quiet --quiet install --upgrade --requirement .lock/direct.txt
	@{ echo "# Every package that building, running and testing rftune needs, at the version it was tested with."; \
		echo "# Made by \`make lock\` from pyproject.toml in a fresh environment of Python 3.11; do not edit."; \
		.lock/bin/python -m pip freeze --all --exclude pip; } > .lock/requirements.lock
	@mv .lock/requirements.lock requirements.lock
	@rm -rf .lock

clean:  ## delete the quick results and the tools' caches; keep the paper's results and .venv
	rm -rf results/quick build .lock .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests workflow benchmarks -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean  ## clean, and delete .venv and Snakemake's records too
	rm -rf $(VENV) .snakemake src/rftune.egg-info

$(INSTALLED): $(LOCKED)
	@$(PIP) install --no-build-isolation --no-deps --editable .
	@rm -f $(VENV)/.installed-* && touch $@

# The base interpreter is asked for, because .venv itself may be the active one. pip would compile the modules on one
# core, for half of the set-up's time; a file among the packages' tests that is no Python is no failure.
$(LOCKED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "rftune needs Python 3.11 or newer, and '$(PYTHON)' is missing or older." >&2; \
		  echo "Name another one: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "'$(PYTHON)' cannot make virtual environments: its venv module is missing." >&2; \
		  echo "Install it (on Debian and Ubuntu: apt install python3-venv) and try again." >&2; exit 1; }
	@echo "Installing the pinned requirements into $(VENV): a minute or two, once."
	@base=$$($(PYTHON) -c 'import sys; print(getattr(sys, "_base_executable", sys.executable))') && \
		"$$base" -m venv --clear $(VENV)
	@$(PIP) install --no-compile --requirement requirements.lock || \
		{ echo "The installation failed (see above); is the package index within reach? Run make again." >&2; exit 1; }
	@$(PY) -m compileall -q -j 0 $(VENV)/lib > /dev/null 2>&1 || true
	@touch $@
