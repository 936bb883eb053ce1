# The two commands of set-up: `make demo`, `make test`. Both build .venv first, from pinned versions.
PYTHON ?= python3
BIN := .venv/bin
DEMO := runs/demo

.PHONY: demo test lint clean

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: .venv/ready
	$(BIN)/glassformer train polarity --recipe polarity --out $(DEMO) --overwrite
	$(BIN)/glassformer evaluate $(DEMO) polarity
	$(BIN)/glassformer predict $(DEMO) "the acting is dull, but the story is superb" "the acting is superb, but the story is dull"
	@echo "open $(DEMO)/evaluation/report.html in a browser"

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto

clean:
	rm -rf .venv runs
