import numpy as np
import polars as pl
import pytest

from benchmarks.add_rows import held_back
from benchmarks.tables_add import add_tables
from glassformer.data.table import Table


def table(labels: list[str]) -> Table:
    frame = pl.DataFrame({"text": [f"text {number}" for number in range(len(labels))], "label": labels})
    return Table(frame=frame.with_row_index("row", 1), source="t", text_column="text", label_column="label")


def test_whole_classes_or_half_of_the_rows_are_held_back() -> None:
    rows = table(["rare"] * 2 + ["a"] * 9 + ["b"] * 9 + ["c"] * 9)
    labels = rows.frame["label"]
    for seed in range(5):
        later = held_back(rows, 1, seed)
        (held,) = labels.filter(later).unique()
        assert held != "rare"
        assert later.sum() == (labels == held).sum()
    assert held_back(rows, 0, 0).sum() == 14
    assert held_back(rows, 0, 0).to_list() != held_back(rows, 0, 1).to_list()
    assert held_back(rows, 2, 3).to_list() == held_back(rows, 2, 3).to_list()


def test_lines_are_shown_by_case_with_the_transformer_apart() -> None:
    def run(new: float | None) -> dict[str, object]:
        return {"old": 0.75, "new": new, "all": 0.5, "seconds": 12.4}

    def line(case: str, seed: int, new: float | None) -> dict[str, object]:
        alone = {name: run(new) for name in ("before", "replay 10%", "anew")}
        runs = {"model": {name: run(new) for name in ("before", "added", "anew")}, "transformer": alone}
        return {"case": case, "seed": seed, "old_rows": 900, "new_rows": 100, "test_rows": 300, "runs": runs}

    lines = [line("x, later", 0, 0.25), line("x, later", 1, 0.75), line("y, later", 0, None)]
    shown = "\n".join(add_tables({"preset": "tiny", "lines": lines}))
    assert "| x, later | before | .750 ± .000 | .500 ± .354 | .500 ± .000 | 12 |" in shown
    assert "|  | `--add` | .750 ± .000 |" in shown
    assert "|  | anew, on all rows | .750 ± .000 | .500 ± .354 | .500 ± .000 |\n" in shown
    assert shown.count("replay 10%") == 2
    assert "| y, later | before | .750 | – | .500 |" in shown
    assert "x, later: 900 and 100 rows, 300 to test" in shown


@pytest.mark.parametrize("classes", [0, 1])
def test_what_is_held_back_is_some_of_the_rows(classes: int) -> None:
    later = held_back(table(["a", "b", "c"] * 5), classes, 1).to_numpy()
    assert 0 < np.count_nonzero(later) < len(later)
