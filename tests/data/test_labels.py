from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glassformer.data import arrays
from glassformer.data import labels as labels_module
from glassformer.data import table as table_module
from glassformer.data.dates import with_dates
from glassformer.data.labels import LabelSet, conflicting_rows, labels_of_blocks, without_order
from glassformer.data.numbers import numbers_of
from glassformer.data.table import perhaps_repeated, read_table
from glassformer.data.wording import label_name
from glassformer.errors import UsageError
from tests.data.samples import table_of


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        (["10", "9", "-1"], ("-1", "9", "10")),
        (["10", "9", "b"], ("10", "9", "b")),
        (["b", "B", "é", "a"], ("B", "a", "b", "é")),
        (["nan", "1", "0"], ("0", "1", "nan")),
    ],
)
def test_classes_are_ordered_by_size_or_code_point(labels: list[str], names: tuple[str, ...]) -> None:
    label_set = LabelSet.from_table(table_of(labels * 2))
    assert label_set.names == names
    encoded = label_set.encode(table_of(labels))
    assert encoded.dtype == np.int64
    assert [names[number] for number in encoded] == labels


def test_numbers_in_a_column_that_is_named_as_a_measure_are_said_to_be_learned_without_an_order() -> None:
    stars = replace(table_of(["1", "5", "3"] * 2), label_column="Overall Rating")
    assert "'Overall Rating' are learned as classes without an order; `task='ordered'`" in str(without_order(stars))
    of_five = table_of(["1", "2", "3", "4", "5"])
    assert "`task='ordered'` learns their order too, and `task='number'` a number" in str(without_order(of_five))
    for labels in (["1 star", "2 stars", "5 stars"], ["★", "★★", "★★★"], ["1/5", "2/5", "5/5"]):
        said = without_order(replace(table_of(labels), label_column="rating"))
        assert str(said).endswith("`task='ordered'` learns their order too")
        assert without_order(replace(table_of(labels), label_column="topic")) is None
    for other in (
        replace(stars, label_column="topic"),
        replace(stars, order=("1", "3", "5")),
        replace(table_of(["1", "5"]), label_column="stars"),
        replace(table_of(["good", "5", "3"]), label_column="stars"),
        replace(table_of([["1"], ["2"], ["3"]]), label_column="stars"),
    ):
        assert without_order(other) is None


def test_several_labels_are_encoded_as_ones_and_zeros() -> None:
    table = table_of([["b", "a"], [], ["b"], ["a"], ["c", "a"], ["c"], []])
    label_set = LabelSet.from_table(table)
    assert label_set == LabelSet(names=("a", "b", "c"), multilabel=True)
    encoded = label_set.encode(table)
    assert encoded.dtype == np.uint8
    assert encoded.tolist() == [[1, 1, 0], [0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1], [0, 0, 1], [0, 0, 0]]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["x", "x", "x"], "every row has the label 'x'"),
        (["x", "x", "y"], r"1 of 2 classes has a single row: 'y' \(row 3\).*at least two rows"),
        ([str(n) for n in range(8)], r"8 of 8 classes have .* and 3 more"),
        ([["x"], ["x"], ["y"]], r"'y' \(row 3\)"),
        ([[], [], []], "no text has a label"),
    ],
)
def test_what_cannot_be_learned_is_refused(labels: list[str] | list[list[str]], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        LabelSet.from_table(table_of(labels))


def test_an_error_says_how_rows_are_counted_below_a_title(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("Orders 2024\n\ntext,label,day\na,x,1.2.2024\nb,y,odd\nc,x,1.2.2024\n")
    table = read_table(tmp_path / "a.csv", text="text", label="label", time="day")
    place = r"a\.csv, column '%s' \(row 1 is row 4 of the file\): "
    for wrong, says in {
        lambda: LabelSet.from_table(table): place % "label" + r"1 of 2 classes has a single row: 'y' \(row 2\)",
        lambda: numbers_of(table): place % "label" + r"'x' \(rows 1 and 3\)",
        lambda: with_dates(table, "day"): place % "day" + r"'odd' \(row 2\)",
    }.items():
        with pytest.raises(UsageError, match=says):
            wrong()


def test_one_label_that_a_text_has_or_not_can_be_learned() -> None:
    assert LabelSet.from_table(table_of([["x"], [], ["x"]])).names == ("x",)


def test_a_label_unseen_in_training_is_named_with_its_rows() -> None:
    label_set = LabelSet(names=("x", "y"))
    with pytest.raises(UsageError, match=r"a\.csv.*'z' \(rows 2 and 4\).*nor 1 other label.*Known: 'x', 'y'\."):
        label_set.encode(table_of(["x", "z", "y", "z", "w"]))
    with pytest.raises(UsageError, match=r"'z' \(row 2\)"):
        LabelSet(names=("x",), multilabel=True).encode(table_of([["x"], ["x", "z"]]))


def test_one_and_several_labels_do_not_mix() -> None:
    with pytest.raises(UsageError, match="several labels"):
        LabelSet(names=("x", "y")).encode(table_of([["x"], ["y"]]))


@pytest.mark.parametrize(
    ("label", "name"),
    [("1.0", "1.0"), (1.0, "1"), (-3.0, "-3"), (0.5, "0.5"), (7, "7"), (True, "True"), (float("inf"), "inf")],
)
def test_the_name_of_a_label(label: object, name: str) -> None:
    assert label_name(label) == name


@pytest.mark.parametrize("at_once", [2, 200_000])
def test_equal_texts_with_different_labels_are_found(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(table_module, "_KEYS_AT_ONCE", at_once)
    texts = ["caf\u00e9", "other", " cafe\u0301 ", "other", "caf\u00e9"]
    assert conflicting_rows(table_of(["x", "y", "y", "y", "x"], texts)) == [[1, 3, 5]]
    several = [["x", "y"], ["y"], ["y", "x"], [], ["x", "y"]]
    assert conflicting_rows(table_of(several, texts)) == [[2, 4]]


def test_another_spelling_of_a_label_is_named_with_the_flag() -> None:
    label_set = LabelSet(names=("Billing", "Shipping"))
    with pytest.raises(UsageError, match=r"'billing' \(row 1\).*'Billing' in another spelling: `fold_labels=True`"):
        label_set.encode(table_of(["billing", "Shipping"]))
    with pytest.raises(
        UsageError, match="'Bug' and 'bug' for different labels; train it again with `fold_labels=True`"
    ):
        LabelSet(names=("Bug", "bug")).encode(table_of(["BUG"]))
    with pytest.raises(UsageError, match=r"Did you mean 'Shipping'\?"):
        label_set.encode(table_of(["Shiping", "Shipping"]))


def test_classes_with_a_single_row_in_another_spelling() -> None:
    with pytest.raises(UsageError, match=r"'BILLING' \(row 3\).*there are 2 classes: `fold_labels=True` joins them"):
        LabelSet.from_table(table_of(["billing", "billing", "BILLING", "bug", "bug"]))


def test_what_is_no_name_of_a_class() -> None:
    with pytest.raises(UsageError, match="the label of row 2 has 1,001 characters, 'xxx"):
        LabelSet.from_table(table_of(["a", "x" * 1_001, "a", "b"]))
    with pytest.raises(UsageError, match="10,001 different labels; at most 10,000"):
        LabelSet.from_table(table_of([str(n) for n in range(10_001)] * 2))


@pytest.mark.parametrize(
    ("like_labels", "words"),
    [(("Art", "Konto"), r"`label=`: 'Art', 'Konto'"), ((), "No other column looks like labels")],
)
def test_a_column_of_decimal_numbers_is_no_column_of_labels(like_labels: tuple[str, ...], words: str) -> None:
    table = replace(table_of(["1,37", "2,5", "2,5", "19,99"]), like_labels=like_labels)
    with pytest.raises(UsageError, match=f"holds numbers with decimals, not classes.*{words}"):
        LabelSet.from_table(table)


def test_texts_are_repeated_or_not_in_every_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_ROWS_AT_ONCE", 7)
    numbers = np.random.default_rng(0).integers(0, 60, 100)
    texts = pl.Series([f" text {number}" if number % 2 else f"text {number} " for number in numbers])
    assert perhaps_repeated(texts).to_list() == pl.Series(numbers).is_duplicated().to_list()
    assert not perhaps_repeated(texts.unique()).any()
    assert perhaps_repeated(texts[:0]).to_list() == []


def test_labels_are_encoded_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of(list("bacabca"))
    monkeypatch.setattr(labels_module, "_ROWS_AT_ONCE", 2)
    names = LabelSet.from_table(table)
    assert names.encode(table).tolist() == [1, 0, 2, 0, 1, 2, 0]
    other = table_of(list("aaxayxa"))
    with pytest.raises(UsageError, match=r"the label 'x' \(rows 3 and 6\) was not seen in training, nor 1 other label"):
        names.encode(other)


@pytest.mark.parametrize("at_once", [2, 200])
def test_labels_are_counted_part_by_part(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(labels_module, "_ROWS_AT_ONCE", at_once)
    one = labels_module.label_counts(table_of(["b", "a", "b", "c", "a", "b", "d"]))
    assert one.rows() == [("b", 3, 1), ("a", 2, 2), ("c", 1, 4), ("d", 1, 7)]
    several = labels_module.label_counts(table_of([["y"], ["x", "y"], [], ["x", "y"]]))
    assert several.rows() == [("y", 3, 1), ("x", 2, 2)]


@pytest.mark.parametrize(
    ("labels", "said"),
    [("a   b  a ", True), ("ab   a   ", False), (" a   b   ", False), ("a b aaaaa", False), ("a        ", False)],
)
def test_labels_that_stand_in_the_first_row_of_a_block_are_said(labels: str, said: bool, tmp_path: Path) -> None:
    rows = "".join(f"text {at},{label.strip()}\n" for at, label in enumerate(labels))
    (tmp_path / "t.csv").write_text(f"text,label\n{rows}", encoding="utf-8")
    found = labels_of_blocks(read_table(tmp_path / "t.csv"))
    assert ("perhaps each label of the column 'label' stands in the first row of its block" in str(found)) == said
