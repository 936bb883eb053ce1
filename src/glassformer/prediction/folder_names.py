"""The names of what lies in a model folder beside the model."""

import re
from pathlib import Path

CHECKPOINT_FOLDER, RUN_FILE, STATE_FILE = "checkpoint", "run.json", "state.safetensors"
"""The folder of an unfinished run, its file with the settings of the run, and its file with the state of training."""
EVALUATION_FOLDER, REPORT_FILE, FIGURES_FILE = "evaluation", "report.html", "metrics.json"
"""The folder that `evaluate` writes, and the files in it."""
_LONGEST_NAME, _DIGITS = 40, 8  # of a table and of its fingerprint
SNAPSHOTS_FOLDER, TIME_LAPSE_FILE = "snapshots", "time-lapse.html"
"""The folder with the snapshots of training (see `tracing/time_lapse.py`), and the page that shows them."""
KEPT_FILES = TEXTS_FILE, VECTORS_FILE = "training-texts.jsonl", "training-texts.safetensors"
"""The training texts, and a vector of each."""
NOT_LOADED = ("README.md", REPORT_FILE, *KEPT_FILES)
"""The files that a model does not answer with."""
AUDIT_PAGE, AUDIT_FILE = "audit.html", "audit.json"
"""What `audit` writes into the model folder."""


def of_other_rows(file: str, table: str, fingerprint: str) -> str:
    """Return how `REPORT_FILE` or `FIGURES_FILE` is named once other rows than these are measured."""
    ending = re.sub(r"[^\w-]+", "-", f"-{Path(table).stem[:_LONGEST_NAME]}-{fingerprint[:_DIGITS]}")
    return file.replace(".", f"{ending}.")


def any_other_rows(file: str) -> str:
    """Return the pattern of these names."""
    return file.replace(".", f"-*-{'[0-9a-f]' * _DIGITS}.")
