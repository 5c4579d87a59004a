# Everything is set up in .venv, once; each stamp file below stands for one finished step.
# Python compiles what it imports; of the thousands of files installed it imports few, so pip compiles none.

VENV    := .venv
BIN     := $(VENV)/bin
PACKAGE := $(VENV)/.package
JARS    := $(VENV)/.jars
BROWSER := $(VENV)/.browser
POSTGRES := $(VENV)/.postgres
FLINK   := $(VENV)/.flink
SPARK   := $(VENV)/spark.jsa
PYTEST_ARGS ?=
# Two processes: one for what uses the lab, which mostly waits, one for the rest (see tests/scheduling.py).
PYTEST  := $(BIN)/pytest --numprocesses 2 --no-loadscope-reorder

.PHONY: console test gates lint sample sample-flink sample-lag clean

console: $(PACKAGE)
	$(BIN)/offsetwise console

test: $(PACKAGE) $(JARS) $(BROWSER) $(POSTGRES) $(FLINK) $(SPARK)
	$(PYTEST) $(PYTEST_ARGS)

gates: $(PACKAGE) $(JARS) $(BROWSER) $(POSTGRES) $(FLINK)
	OFFSETWISE_GATES=full OFFSETWISE_FIGURES=docs/gates.md $(PYTEST) $(PYTEST_ARGS)

lint: $(PACKAGE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

sample: $(PACKAGE) $(JARS)
	$(BIN)/python tools/record_sample.py
	$(BIN)/python tools/record_lag.py
	$(BIN)/offsetwise lab down

sample-flink: $(PACKAGE) $(JARS) $(FLINK)
	PYTHONPATH=. $(BIN)/python tools/record_flink_sample.py
	$(BIN)/offsetwise lab down --dir .lab-flink

sample-lag: $(PACKAGE) $(JARS)
	$(BIN)/python tools/record_lag.py
	$(BIN)/offsetwise lab down

clean:
	rm -rf $(VENV)

$(PACKAGE): pyproject.toml constraints.txt
	python="$$(tools/find-python)" && "$$python" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e ".[s3,dev]"
	touch $@

$(JARS): $(PACKAGE) lib/offsetwise/lab/jars.py
	$(BIN)/python -m offsetwise.lab.prefetch
	touch $@

$(BROWSER): tools/find-browser
	tools/find-browser
	mkdir -p $(VENV)
	touch $@

$(POSTGRES): tools/find-postgres
	tools/find-postgres
	mkdir -p $(VENV)
	touch $@

$(SPARK): $(JARS) tests/quick_spark.py
	rm -f $@
	$(BIN)/python -m tests.quick_spark

$(FLINK): $(PACKAGE) tests/integration/flink_distribution.py
	$(BIN)/python -m tests.integration.flink_distribution
	touch $@
