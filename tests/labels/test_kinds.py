"""Several labels for each text, ordered classes, and numbers: what is doubted, suggested, chosen and written back."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from glassformer import check_labels
from glassformer.data.table import Table, read_table
from glassformer.errors import UsageError
from glassformer.labels.check import check_table
from glassformer.labels.findings import CONFLICT, DOUBTFUL, IN_TEST, NEAR_CONFLICT, NEAR_REPEAT, REPEAT
from glassformer.labels.labelled import read_labelled, rows_to_label
from glassformer.labels.mend import mend, read_changes
from glassformer.labels.to_label import to_label
from glassformer.labels.truth import truth_of
from tests.labels.samples import opinions, table_of
from tests.trained import write_csv

WHOLE = True  # few strengths find fewer doubts

ROWS = opinions(100)


def tagged(turned: dict[int, list[str]] | None = None) -> Table:
    """A word says whether a text is good, and another one whether it is about art."""
    rows = [(f"{text} {('canvas', 'goal')[row % 3 == 0]}", label) for row, (text, label) in enumerate(ROWS)]
    labels = [
        [*(["good"] if label == "good" else []), *(["art"] if row % 3 else [])] for row, (_, label) in enumerate(rows)
    ]
    labels = [(turned or {}).get(row, given) for row, given in enumerate(labels)]
    frame = pl.DataFrame({"text": [text for text, _ in rows], "label": labels}).with_row_index("row", offset=1)
    return Table(frame=frame, source="tags.csv", text_column="text", label_column="label", multilabel=True)


def measured(changed: dict[int, str] | None = None) -> list[tuple[str, str]]:
    numbers = {"good": 8.0, "bad": 2.0}
    draw = np.random.default_rng(0)
    rows = [(text, f"{numbers[label] + draw.normal() / 4:.2f}") for text, label in ROWS]
    return [(text, (changed or {}).get(row, number)) for row, (text, number) in enumerate(rows)]


def unlabelled(texts: list[str]) -> Table:
    frame = pl.DataFrame({"text": texts}).with_row_index("row", offset=1)
    return Table(frame=frame, source="more.csv", text_column="text", label_column=None)


def test_each_of_several_labels_is_doubted_by_itself() -> None:
    turned: dict[int, list[str]] = {4: ["art"], 6: ["good", "art"]}  # both are good; the seventh is not about art
    check = check_table(truth_of(tagged(turned), separator=";"))
    wrong = {row["row"]: row for row in check.of_kind(DOUBTFUL).iter_rows(named=True)}
    assert list(wrong)[:2] in ([5, 7], [7, 5])
    assert (wrong[5]["label"], wrong[5]["suggested_label"]) == ("art", "art;good")
    assert (wrong[7]["label"], wrong[7]["suggested_label"]) == ("art;good", "good")
    assert wrong[5]["probability"] > 0.6
    assert check.labels == ("art", "good")
    assert check.agreement > 0.8
    assert check.estimated_wrong is not None
    assert check.estimated_wrong >= 2


def test_several_labels_from_python() -> None:
    check = check_labels(["a good film", "a bad film", "a good book", "dull"] * 5, [["x"], ["y"], ["x", "y"], []] * 5)
    assert check.of_kind(REPEAT).height == 16
    assert check.of_kind(REPEAT).filter(pl.col("row") == 8)["label"].to_list() == [""]


def test_the_texts_with_the_most_unsure_labels_come_first() -> None:
    truth = truth_of(tagged(), separator=";")
    found = to_label(
        truth, unlabelled(["a lovely dull canvas goal", *(f"{text} canvas" for text, _ in opinions(9, 3))]), 1
    )
    assert found.rows["row"].to_list() == [1]
    assert found.rows.columns == ["row", "text", "suggested_label", "probability"]


@pytest.mark.parametrize("kind", ["csv", "json.csv", "jsonl", "parquet"])
def test_several_labels_are_written_back_as_they_were(kind: str, tmp_path: Path) -> None:
    lists = tagged().frame["label"].to_list()
    cells = {"csv": [";".join(row) for row in lists], "json.csv": list(map(json.dumps, lists))}.get(kind, lists)
    file, out = tmp_path / f"tags.{kind}", tmp_path / f"out.{kind}"
    frame = pl.DataFrame({"text": tagged().frame["text"], "label": cells})
    write: dict[str, Any] = {"jsonl": frame.write_ndjson, "parquet": frame.write_parquet}
    write.get(kind, frame.write_csv)(file)
    truth = truth_of(read_table(file, label="label", multilabel=";"), separator=";")
    new = [("1", truth.table.frame["text"][0], truth.cells[0], "good ; art")]
    new += [("2", truth.table.frame["text"][1], truth.cells[1], "none")]
    write_csv(tmp_path / "filled.csv", new, ("row", "text", "label", "new_label"))
    mended = mend(file, out, truth, read_changes(tmp_path / "filled.csv", truth))
    assert (mended.relabelled, mended.rows) == (2, 100)
    again = read_table(out, label="label", multilabel=";")
    assert again.frame["label"].to_list() == [["art", "good"], [], *lists[2:]]

    frame.select("text").head(2).with_columns(text=pl.format("new {}", "text")).write_csv(tmp_path / "more.csv")
    pool = unlabelled(pl.read_csv(tmp_path / "more.csv")["text"].to_list())
    chosen = to_label(truth, pool, 2).rows.drop("text")
    rows = rows_to_label(tmp_path / "more.csv", pool, truth.table, chosen)
    rows.with_columns(label=pl.Series(["art;good", "none"])).write_csv(tmp_path / "labelled.csv")
    mend(file, out, truth, {}, read_labelled(tmp_path / "labelled.csv", truth))
    assert read_table(out, label="label", multilabel=";").frame["label"][100:].to_list() == [["art", "good"], []]


def test_a_label_of_several_is_checked() -> None:
    truth = truth_of(tagged(), separator=";")
    assert truth.checked("drop", "row 1") is None
    for typed, says in (("good;arts", "Did you mean 'art'"), ("good;drop", "'drop' leaves out the row, so it stands")):
        with pytest.raises(UsageError, match=says):
            truth.checked(typed, "row 1")


def test_ordered_classes_are_checked_as_classes() -> None:
    turned = [(text, "bad" if row == 24 else label) for row, (text, label) in enumerate(ROWS)]
    table = replace(table_of(turned), order=("good", "bad"))
    check = check_table(truth_of(table, "ordered"))
    assert (check.labels, check.findings["row"][0]) == (("good", "bad"), 25)
    assert to_label(truth_of(table, "ordered"), unlabelled(["a lovely and dull film"]), 1).rows.height == 1


def test_numbers_that_are_far_from_their_answers_are_doubtful() -> None:
    text, number = measured()[0]
    rows = [*measured({24: "80"}), (text, number), (ROWS[3][0], "9.5"), (f"{ROWS[5][0]} indeed", measured()[5][1])]
    check = check_table(truth_of(table_of(rows), "number"))
    first = check.of_kind(DOUBTFUL).row(0, named=True)
    assert (first["row"], first["label"]) == (25, "80")
    assert 4 < float(first["suggested_label"]) < 12
    assert first["deviations"] > 10
    assert (check.labels, check.estimated_wrong, check.curve) == ((), None, None)
    assert check.of_kind(REPEAT).select("row", "other_row").rows() == [(101, 1)]
    assert set(check.of_kind(CONFLICT).select("row", "other_row").rows()) == {(4, 102), (102, 4)}
    assert (103, 6) in check.of_kind(NEAR_REPEAT).select("row", "other_row").rows()
    clean = check_table(truth_of(table_of(measured()), "number"))
    assert clean.agreement > 0.5
    assert not clean.knows_little


def test_nearly_the_same_texts_may_have_other_numbers() -> None:
    """Only the same text with the same number is dropped, and only numbers that are far apart are a doubt."""
    draw = np.random.default_rng(1)
    ends = ("near the river", "with a garden", "above the shops")
    rows = [
        (f"{rooms} room flat in house {house} of the old town {end}", f"{100 * rooms + draw.normal() * 9:.1f}")
        for end in ends for house in range(10, 20) for rooms in range(2, 7)
    ]  # fmt: skip
    text, number = rows[7]
    rows += [(text, number), (rows[9][0], f"{float(rows[9][1]) + 0.1:.1f}")]  # rows 151 and 152
    rows += [(f"{rows[20][0]} today", "1500"), (rows[40][0], "260")]
    check = check_table(truth_of(table_of(rows), "number"))
    assert check.of_kind(REPEAT).select("row", "other_row").rows() == [(151, 8)]
    values = [float(number) for _, number in rows]
    for row, other in check.of_kind(NEAR_REPEAT).select("row", "other_row").iter_rows():
        assert values[row - 1] == values[other - 1]
    near = check.of_kind(NEAR_CONFLICT).select("row", "other_row").rows()
    assert (153, 21) in near
    doubted = set(check.of_kind(DOUBTFUL)["row"])
    assert all(doubted & set(pair) for pair in near)  # the model knows that other rooms have other numbers
    assert {154, 41} <= set(check.of_kind(CONFLICT)["row"])  # which of the two is right is left to the reader
    filled = check.to_fill_in(prefill=True).drop_nulls("new_label")
    assert set(filled["why"]) == {DOUBTFUL, REPEAT}
    assert filled.filter(pl.col("new_label") == "drop")["row"].to_list() == [151]
    tested = check_table(truth_of(table_of(rows), "number"), table_of([rows[40]])).to_fill_in(prefill=True)
    in_test = tested.filter(pl.col("why") == IN_TEST)
    assert in_test.select("row", "new_label").rows() == [(41, "drop"), (154, "drop")]


def test_numbers_that_are_equal_but_for_doubtful_ones_are_measured_on_all_rows() -> None:
    rows = [(text, "1000" if row < 5 else "0") for row, (text, _) in enumerate(ROWS)]
    check = check_table(truth_of(table_of(rows), "number"))
    assert check.knows_nothing
    assert -2 < check.agreement < 0


def test_readers_disagree_most_about_the_number_to_label_next() -> None:
    truth = truth_of(table_of(measured()), "number")
    words = ROWS[0][0].split()
    rare = " ".join([words[4], ROWS[1][0].split()[4]])
    found = to_label(truth, unlabelled([rare, "zzz", "lovely dull awful superb"]), 2)
    assert found.rows.columns == ["row", "text", "suggested_label", "spread"]
    assert found.rows["spread"].to_list()[0] >= found.rows["spread"].to_list()[1]
    assert all(0 < float(number) < 10 for number in found.rows["suggested_label"])


def test_numbers_are_mended(tmp_path: Path) -> None:
    pl.DataFrame(measured(), schema=["text", "label"], orient="row").write_csv(tmp_path / "t.csv")
    truth = truth_of(read_table(tmp_path / "t.csv", label="label"), "number")
    text, number = measured()[2]
    new = [("3", text, str(float(number)), "7.5")]
    write_csv(tmp_path / "filled.csv", new, ("row", "text", "label", "new_label"))
    assert mend(tmp_path / "t.csv", tmp_path / "o.csv", truth, read_changes(tmp_path / "filled.csv", truth)).rows == 100
    assert pl.read_csv(tmp_path / "o.csv")["label"][2] == 7.5
    with pytest.raises(UsageError, match="row 1: 'seven' is not a number; type one, or drop to leave out the row"):
        truth.checked("seven", "row 1")
    assert [truth.checked(typed, "row 1") for typed in ("+7.50", ".5", "8.0", "1e3")] == ["7.5", "0.5", "8", "1000"]
    with pytest.raises(UsageError, match="'1_0' is not a number"):
        truth.checked("1_0", "row 1")
    whole = pl.DataFrame({"text": [text for text, _ in ROWS], "label": [row % 7 for row in range(100)]})
    whole.write_parquet(tmp_path / "t.parquet")
    truth = truth_of(read_table(tmp_path / "t.parquet", label="label"), "number")
    with pytest.raises(UsageError, match=r"'7\.5' does not fit the column 'label', which holds Int64; change it first"):
        mend(tmp_path / "t.parquet", tmp_path / "o.parquet", truth, {3: "7.5"})


def test_numbers_from_python() -> None:
    texts, numbers = zip(*measured(), strict=True)
    check = check_labels(texts, [float(number) for number in numbers], task="number")
    assert check.agreement > 0.5
