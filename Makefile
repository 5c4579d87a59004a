# Everything is set up in .venv, once; each stamp file below stands for one finished step.
# Python compiles what it imports; of the thousands of files installed it imports few, so none is compiled here.
# Every package comes from a lock with the hashes of its files, the build tools first: what has no wheel is built with
# them, and with nothing else. CONTRIBUTING.md says how to add a dependency. pip installs uv, and uv the rest, in a tenth
# of pip's time. uv does not read pip's configuration: behind a mirror or a proxy that only pip knows, pip does it.

VENV    := .venv
BIN     := $(VENV)/bin
CONSOLE := $(VENV)/.console
PYSPARK := $(VENV)/.pyspark
PACKAGE := $(VENV)/.package
JARS    := $(VENV)/.jars
BROWSER := $(VENV)/.browser
POSTGRES := $(VENV)/.postgres
FLINK   := $(VENV)/.flink
EMULATORS := $(VENV)/.emulators
SPARKS  := $(VENV)/.sparks
SPARK   := $(VENV)/spark.jsa
PIP     := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
UV      := $(BIN)/uv pip install --python $(BIN)/python
ALONE   := --no-deps --no-build-isolation
HASHED  := $(ALONE) --require-hashes
install  = $(UV) $(1) || $(PIP) $(1)
count    = $$(grep -c == $(1)) packages
PYTEST_ARGS ?=
# What is fetched and built needs one core at a time, and waits for networks.
MAKEFLAGS += --jobs=2
# More processes than cores: who has brokers, a browser or a JVM mostly waits (see tests/scheduling.py).
PYTEST  := $(BIN)/pytest --dist loadgroup --no-loadscope-reorder --numprocesses

# Tests start thousands of processes: what one has compiled, the next ones read, whatever the environment says.
test proof gates: export PYTHONDONTWRITEBYTECODE :=
test proof gates: export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache

.PHONY: console test proof gates lint lock sample sample-flink sample-kinesis sample-lag sample-cutover sample-flink-cutover clean

console: $(CONSOLE)
	$(BIN)/offsetwise console

test: $(PACKAGE) $(JARS) $(POSTGRES) $(SPARK)
	$(PYTEST) 3 -m "not proof and not gates" $(PYTEST_ARGS)

proof: $(PACKAGE) $(JARS) $(BROWSER) $(POSTGRES) $(FLINK) $(EMULATORS) $(SPARK)
	$(PYTEST) 4 -m "proof and not gates" $(PYTEST_ARGS)

gates: $(PACKAGE) $(JARS) $(BROWSER) $(POSTGRES) $(FLINK) $(EMULATORS) $(SPARKS)
	OFFSETWISE_GATES=full OFFSETWISE_FIGURES=docs/gates.md $(PYTEST) 2 $(PYTEST_ARGS)

lint: $(PACKAGE)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python tools/measure.py --hold rooms_in_circles mutual_pairs core_to_plugin_imports modules_named_in_strings class_names_used_twice \
	  duplicates \
	  functions_over_40_lines longest_function \
	  docstrings_give_say_tell dialect_per_1000_locals rooms_grown

lock: $(PACKAGE)
	PYTHONPATH=. $(BIN)/python tools/lock.py

sample: $(PACKAGE) $(JARS) $(SPARK)
	$(BIN)/python tools/record_sample.py
	$(BIN)/python tools/record_lag.py
	PYTHONPATH=. $(BIN)/python tools/record_cutover.py
	$(BIN)/offsetwise lab down

sample-flink: $(PACKAGE) $(JARS) $(FLINK)
	PYTHONPATH=. $(BIN)/python tools/record_flink_sample.py
	PYTHONPATH=. $(BIN)/python tools/record_flink_cutover.py
	$(BIN)/offsetwise lab down --dir .lab-flink

sample-kinesis: $(PACKAGE) $(EMULATORS)
	PYTHONPATH=. $(BIN)/python tools/record_kinesis_sample.py

sample-lag: $(PACKAGE) $(JARS)
	$(BIN)/python tools/record_lag.py
	$(BIN)/offsetwise lab down

sample-cutover: $(PACKAGE) $(JARS) $(SPARK)
	PYTHONPATH=. $(BIN)/python tools/record_cutover.py

sample-flink-cutover: $(PACKAGE) $(JARS) $(SPARK) $(FLINK)
	PYTHONPATH=. $(BIN)/python tools/record_flink_cutover.py

clean:
	rm -rf $(VENV)

# pip comes last into a new environment: where it is, the environment is whole.
$(BIN)/pip:
	@echo "1 of 3: a new environment in $(VENV)"
	@python="$$(tools/find-python)" && "$$python" -m venv $(VENV)

$(BIN)/uv: locks/uv.txt | $(BIN)/pip
	@echo "2 of 3: the installer, uv"
	@$(PIP) $(HASHED) -r locks/uv.txt
	@touch $@

# What the console needs to show recorded comparisons and to draft, review and export plans: without PySpark.
$(CONSOLE): pyproject.toml locks/build.txt locks/console.txt $(BIN)/uv
	@echo "3 of 3: $(call count,locks/console.txt) and Offsetwise itself, 10 seconds to a minute by the network"
	@$(call install,$(HASHED) -r locks/build.txt)
	@$(call install,$(HASHED) -r locks/console.txt)
	@$(call install,$(ALONE) --no-index -e .)
	@touch $@

# What compares records and counts topics; the console installs it when it is first needed.
$(PYSPARK): locks/spark.txt $(CONSOLE)
	@echo "PySpark: $(call count,locks/spark.txt), half a minute or more by the network"
	@$(call install,$(HASHED) -r locks/spark.txt)
	@touch $@

$(PACKAGE): locks/packages.txt $(PYSPARK)
	@echo "What the tests need: $(call count,locks/packages.txt)"
	@$(call install,$(HASHED) -r locks/packages.txt)
	@touch $@

$(JARS): $(PACKAGE) lib/offsetwise/jars.lock
	$(BIN)/python -m offsetwise.lab.prefetch
	touch $@

$(BROWSER): tools/find-browser | $(POSTGRES)  # apt serves one at a time
	tools/find-browser
	mkdir -p $(VENV)
	touch $@

$(POSTGRES): tools/find-postgres
	tools/find-postgres
	mkdir -p $(VENV)
	touch $@

$(EMULATORS): $(PACKAGE) tools/find-emulators $(wildcard locks/emulators/*) lib/offsetwise/jars.lock
	tools/find-emulators $(VENV)/emulators
	$(BIN)/python -m tests.plugins.kinesis.live.jars
	$(BIN)/python -m tests.integration.secured_broker
	$(BIN)/python -m tests.plugins.connect.live.connect_workers
	$(BIN)/python -m tests.plugins.kafka.live.group_jobs
	touch $@

$(SPARK): $(JARS) tests/quick_spark.py
	rm -f $@
	$(BIN)/python -m tests.quick_spark

$(FLINK): $(PACKAGE) tests/integration/flink_distribution.py $(wildcard locks/flink-*.txt) lib/offsetwise/jars.lock
	$(BIN)/python -m tests.integration.flink_distribution
	touch $@

$(SPARKS): $(PACKAGE) tests/plugins/spark/live/spark_versions.py $(wildcard locks/spark-*.txt) lib/offsetwise/jars.lock
	$(BIN)/python -m tests.plugins.spark.live.spark_versions
	touch $@
