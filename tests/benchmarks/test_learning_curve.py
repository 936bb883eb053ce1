import json
import sys
from pathlib import Path

import pytest

from benchmarks import learning_curve
from benchmarks.tables import kinds
from benchmarks.tables_labels import forecast_tables


def a_forecast(low: float, value: float, high: float) -> dict[str, float]:
    return {"value": value, "low": low, "high": high}


def test_held_forecasts_are_counted() -> None:
    line = {"table": "films", "rows": 1_000, "more": 500, "accuracy": 0.75, "brought": 0.02, "standard_error": 0.004}
    forecasts = [a_forecast(0.01, 0.03, 0.06), a_forecast(0.03, 0.05, 0.08)]
    shown = "\n\n".join(forecast_tables({"seed": 1, "lines": [line | {"forecasts": forecasts}]}))
    assert "| `films` | 1,000 | 500 | .750 | 2.0 ± 0.4 | 4.0 | 2.0 to 7.0 | 1 of 2 |" in shown
    assert "for 1 of 2 forecasts. On average, a forecast was off by 2.0 points. Seed 1." in shown


def test_without_a_result_the_page_says_so(tmp_path: Path) -> None:
    assert list(kinds(tmp_path)["learning-curve"]("learning-curve")) == ["Not measured yet."]


def test_a_trial_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning_curve, "TABLES", {"polarity": None})
    monkeypatch.setattr(sys, "argv", ["benchmarks/learning_curve.py", "--quick", "--work", str(tmp_path)])
    learning_curve.main()
    found = json.loads((tmp_path / "trial" / "learning-curve.json").read_text())
    (line,) = found["lines"]  # there are too few rows for 500 and 1,000 more
    assert (line["table"], line["rows"], line["more"]) == ("polarity", 240, 240)
    assert len(line["forecasts"]) == 5
    assert all(0 <= each["low"] <= each["high"] <= 1 for each in line["forecasts"])
