# The two commands of set-up: `make demo`, `make test`. Both build .venv first, from the versions in requirements/, and compare
# each file with its hash there.
PYTHON ?= python3
BIN := .venv/bin
DEMO := runs/demo
ASSISTANT := runs/assistant
# Python compiles a module when it is first imported. To compile all that is installed would take a minute. PyTorch is
# unpacked while the others are.
INSTALL := $(BIN)/python -m pip install --quiet --no-deps --no-compile
unexport PYTHONDONTWRITEBYTECODE
LOCKED := $(INSTALL) --require-hashes --requirement
TORCH := $(firstword $(shell grep ^torch== requirements/torch.txt))
ASK := "how is the acting?" --samples 5 --max-tokens 32

.PHONY: demo demo-assistant test suite lint docs pictures traces bench bench-full bench-tables lock release clean

# PyTorch comes from a folder that pip is told of (PIP_FIND_LINKS) if it lies there: a build for CPUs only, say, which has no
# hash in requirements/. Otherwise it comes from PyPI, with the libraries of CUDA that it needs.
.venv/ready: pyproject.toml requirements/dev.txt requirements/core.txt requirements/torch.txt
	$(PYTHON) -m venv .venv
	@if $(INSTALL) --no-index $(TORCH) 2>/dev/null; then \
		echo "PyTorch comes from a folder of this machine, so it was not compared with a hash"; \
	else $(LOCKED) requirements/torch.txt; fi & torch=$$!; \
	$(LOCKED) requirements/dev.txt && wait $$torch
	$(INSTALL) --no-build-isolation --editable .
	touch $@

demo: .venv/ready
	$(BIN)/glassformer train polarity --recipe polarity --out $(DEMO) --overwrite
	$(BIN)/glassformer evaluate $(DEMO) polarity
	$(BIN)/glassformer predict $(DEMO) "the acting is very dull, to be honest, but the story is truly superb, all in all" \
		"the acting is truly superb, all in all, but the story is very dull, to be honest"
	@echo "open $(DEMO)/evaluation/report.html in a browser"

# One thread: these models are so small that a second one makes them slower.
demo-assistant: export OMP_NUM_THREADS = 1
demo-assistant: .venv/ready
	$(BIN)/glassformer align pairs polarity --chosen positive --out $(ASSISTANT)/pairs --overwrite
	$(BIN)/glassformer pretrain polarity --preset tiny --out $(ASSISTANT)/lm --overwrite
	$(BIN)/glassformer generate $(ASSISTANT)/lm $(ASK)
	$(BIN)/glassformer align sft $(ASSISTANT)/lm $(ASSISTANT)/pairs/pairs.jsonl --out $(ASSISTANT)/sft --overwrite
	$(BIN)/glassformer generate $(ASSISTANT)/sft $(ASK)
	$(BIN)/glassformer align reward $(ASSISTANT)/sft $(ASSISTANT)/pairs/preferences.jsonl --out $(ASSISTANT)/reward --overwrite
	$(BIN)/glassformer align rl $(ASSISTANT)/sft --reward $(ASSISTANT)/reward --out $(ASSISTANT)/rl --overwrite
	$(BIN)/glassformer generate $(ASSISTANT)/rl $(ASK)
	$(BIN)/glassformer align evaluate $(ASSISTANT)/sft $(ASSISTANT)/rl --reward $(ASSISTANT)/reward

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/zizmor --quiet --offline .github
	$(BIN)/python requirements/audit.py

# Types are checked while the tests run: mypy takes one process for half a minute.
test: .venv/ready
	$(MAKE) --jobs 2 lint suite

# A process for each core: more threads would be in each other's way. Memory that was freed is kept for what comes next.
suite: export OMP_NUM_THREADS = 1
suite: export POLARS_MAX_THREADS = 1
suite: export MALLOC_MMAP_THRESHOLD_ = 1000000000
suite: export MALLOC_TRIM_THRESHOLD_ = 1000000000
suite: .venv/ready
	$(BIN)/pytest -n auto --dist worksteal

# The site of the docs. A warning is an error: a broken link, say.
docs: .venv/ready
	$(BIN)/python -m sphinx -q -W --keep-going -n -c docs/site docs build/docs
	@echo "open build/docs/index.html in a browser"

pictures: .venv/ready
	$(BIN)/python docs/pictures/draw.py
	$(BIN)/python docs/pictures/imports.py
	$(BIN)/python docs/pictures/course.py

traces: .venv/ready
	$(BIN)/python docs/how-it-works/systems/traces/draw.py

# About an hour: docs/how-it-works/results.md. fastText is compiled; it is needed here.
bench: .venv/ready
	$(LOCKED) requirements/bench.txt
	$(BIN)/python -m benchmarks.training_speed disaster-tweets $(BENCH)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.literal_speed $(BENCH)
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.answering_speed $(BENCH)
	$(BIN)/python -m benchmarks.serving_load $(BENCH)
	$(BIN)/python -m benchmarks.wall_time $(BENCH)
	$(BIN)/python -m benchmarks.tables

# Many hours; finished models are kept, so that it goes on where it was stopped.
bench-full: bench bench-tables
	$(BIN)/python -m benchmarks.training_speed imdb --rows 1000 $(BENCH)
	$(BIN)/python -m benchmarks.accuracy zhou --seeds 10 $(BENCH)
	$(BIN)/python -m benchmarks.accuracy disaster-tweets --seeds 5 $(BENCH)
	$(BIN)/python -m benchmarks.accuracy disaster-tweets --folds 5 $(BENCH)
	$(BIN)/python -m benchmarks.accuracy imdb $(BENCH)
	$(BIN)/python -m benchmarks.accuracy polarity --recipe polarity --seeds 3 $(BENCH)
	$(BIN)/python -m benchmarks.accuracy imdb --recipe benchmarks/pretrained.toml --unlabelled imdb $(BENCH)
	$(BIN)/python -m benchmarks.faithfulness $(BENCH)
	$(BIN)/python -m benchmarks.inside_cost $(BENCH)
	$(BIN)/python -m benchmarks.unlike $(BENCH)
	$(BIN)/python -m benchmarks.slices $(BENCH)
	$(BIN)/python -m benchmarks.automatic $(BENCH)
	$(BIN)/python -m benchmarks.label_doctor $(BENCH)
	$(BIN)/python -m benchmarks.learning_curve $(BENCH)
	$(BIN)/python -m benchmarks.label_next $(BENCH)
	$(BIN)/python -m benchmarks.add_rows $(BENCH)
	$(BIN)/python -m benchmarks.many_processes $(BENCH)
	$(BIN)/python -m benchmarks.installation $(BENCH)
	$(BIN)/python -m benchmarks.distil $(BENCH)
	$(BIN)/python -m benchmarks.rows $(BENCH)
	$(BIN)/python -m benchmarks.bulk_shards $(BENCH)
	$(BIN)/python -m benchmarks.assistant $(BENCH)
	$(BIN)/python -m benchmarks.tables

# Hours; a stopped bench goes on where it was. `make bench-tables BENCH=--quick` takes a few minutes. fastText is compiled;
# where that fails, the bench goes without it.
bench-tables: .venv/ready
	-$(LOCKED) requirements/bench.txt
	$(BIN)/python -m benchmarks.bench_of_tables $(BENCH)
	$(BIN)/python -m benchmarks.tables

# The tools of releases, beside those of tests.
.venv/release: .venv/ready requirements/release.txt
	$(LOCKED) requirements/release.txt
	touch $@

# Every version with its hashes. LOCK=--upgrade takes the newest versions.
lock: .venv/release
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/python requirements/lock.py $(LOCK)

# Packages, hashes, dependencies and licences in dist/, built twice and compared; then the wheel does the main job elsewhere.
release: .venv/release
	$(BIN)/python requirements/audit.py --strict
	$(BIN)/python release/build.py
	$(BIN)/python release/check.py

clean:
	rm -rf .venv runs build/docs
