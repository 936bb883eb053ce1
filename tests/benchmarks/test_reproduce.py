import json
import re
from pathlib import Path

from benchmarks.reproduce import time_of
from benchmarks.tables_reproduce import name_of
from glassformer.experiments.published.systems import ENTRIES


def test_the_time_of_a_line_is_that_of_its_runs_when_they_were_measured(tmp_path: Path) -> None:
    assert time_of(ENTRIES[0], tmp_path) == "not measured yet"
    cells = {
        "literal": {"runs": [{"training_seconds": 70}, {"training_seconds": 50}]},
        "default": {"runs": [{"training_seconds": 60}]},
    }
    file = tmp_path / "reproduce" / f"{name_of(ENTRIES[0])}.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"cells": cells}))
    assert time_of(ENTRIES[0], tmp_path) == "3 runs trained for 3 min 0 s when measured"


def test_every_measured_line_has_a_time() -> None:
    measured = {time_of(entry) for entry in ENTRIES} - {"not measured yet"}
    assert measured
    assert all(re.fullmatch(r"\d+ runs? trained for .*\d .* when measured", said) for said in measured)
