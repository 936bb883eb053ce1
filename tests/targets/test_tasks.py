"""The task of a label column: by the settings, and by content."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.labels import LabelSet, ordered_labels
from glassformer.data.sources import SourceConfig, Task, read_sources
from glassformer.data.splits import ValidationConfig
from glassformer.errors import UsageError
from glassformer.targets.tasks import find_task, is_scale, levels_separator_of, separator_of
from tests.data.samples import table_of


def written(folder: Path, labels: Sequence[object]) -> SourceConfig:
    path = folder / "t.csv"
    pl.DataFrame({"text": [f"text number {n}" for n in range(len(labels))], "y": labels}).write_csv(path)
    return SourceConfig(train=str(path), text="text", label="y")


GENRES = ["drama|comedy", "drama", "comedy", "crime", "comedy|crime", "drama|crime", "crime", "crime|comedy"] * 3


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (GENRES, "|"),
        ([cell.replace("|", ", ") for cell in GENRES], ","),
        ([cell.replace("|", ";") for cell in GENRES], ";"),
        (['["drama"]', '["drama", "comedy"]', "[]"], "|"),
        ([["drama"], ["drama", "comedy"]], "|"),
        (["very good", "not, good"] * 9, None),
        (["food/pizza", "food/pasta", "drink/beer"] * 9, None),  # levels
        (["billing, refund", "billing, invoice", "shipping, delay"] * 9, None),
        (["and/or", "and", "or"], None),  # too few cells
        (["drama|", "drama", "comedy", "drama|comedy"] * 9, None),  # an empty part
        ([f"{cell};".replace("|", ";") for cell in GENRES], ";"),  # as Microsoft Forms writes them
        ([1, 2, 3], None),
        (["a", "b", None], None),
    ],
)
def test_a_separator_needs_clear_evidence(cells: list[object], separator: str | None) -> None:
    assert separator_of(pl.Series(cells)) == separator


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["food/fruit", "food/bread", "drink/tea", "drink/beer"] * 3, "/"),
        (["food > fruit > apple", "food > fruit > lime", "food > bread", "drink > tea", "drink > beer"] * 3, " > "),
        (["food::fruit", "food::bread", "drink::tea", "drink::beer"] * 3, "::"),
        (["food / fruit", "food / bread", "drink / tea", "drink / beer"] * 3, " / "),
        ([*["food/fruit", "food/bread", "drink/tea", "drink/beer"] * 5, "other"], "/"),  # nearly all
        (["food/fruit", "food/bread", "drink/tea", "drink/beer", "other"] * 3, None),  # a fifth without
        (["food/fruit", "food/bread"] * 6, None),  # one name at the first level
        (["km/h", "m/s", "l/min"] * 6, None),  # no two labels begin alike
        (["drama/comedy", "comedy/drama", "drama/crime", "crime/drama", "comedy/crime", "crime/comedy"] * 3, None),
        (["food/", "food/bread", "drink/tea", "drink/beer"] * 3, None),  # an empty part
        (["food/fruit", "food/bread", "drink/tea", "drink/beer"], None),  # too few cells
        (["2024/01/02", "2024/01/03", "2023/01/02", "2023/01/03"] * 3, None),
        ([1, 2, 3], None),
    ],
)
def test_levels_need_clear_evidence(cells: list[object], separator: str | None) -> None:
    assert levels_separator_of(pl.Series(cells)) == separator


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["and/or", "and", "or"] * 2, "/"),
        (["comedy;crime", "comedy;drama", "crime;drama"], ";"),  # none stands alone
        (["food / pizza", "food / tips", "drink / tips", "drink / tea", "drink"] * 3, None),  # levels
        (["yes / no", "yes", "maybe"] * 3, None),
        (["1/2/2024", "2/1/2024"] * 9, None),
        (["Sci/Tech", "World", "Sports"] * 9, None),
    ],
)
def test_where_evidence_is_not_clear_it_is_said(cells: list[object], separator: str | None, tmp_path: Path) -> None:
    said = f"task: classes. Perhaps column 'y' holds several labels with {separator!r} in between: is it `multilabel="
    for by_content in (True, False):
        found = find_task(written(tmp_path, cells), by_content=by_content)
        assert found.source.multilabel is None
        assert (said in str(found.said)) == (separator is not None)


def test_levels_are_found_unless_each_cell_is_to_be_a_class(tmp_path: Path) -> None:
    source = written(tmp_path, ["food/fruit", "food/bread", "drink/tea", "drink/beer"] * 3)
    for by_content in (True, False):
        found = find_task(source, by_content=by_content)
        assert (found.source.task, found.source.levels) == ("classes", "/")
        assert "task: classes with levels" in str(found.said)
    assert read_sources(found.source, ValidationConfig(), None).train.levels == "/"
    kept = source.model_copy(update={"task": "classes"})
    assert find_task(kept) == (kept, None)
    named = find_task(source.model_copy(update={"levels": "f"}))
    assert (named.source.task, named.source.levels, named.said) == ("classes", "f", None)


@pytest.mark.parametrize(
    ("labels", "task", "words"),
    [
        ([1, 2, 3, 4, 5] * 4, "ordered", "5 whole numbers from 1 to 5"),
        ([0, 1] * 9, None, "holds 0 and 1"),
        ([1, 2, 4] * 9, "number", "holds whole numbers"),
        (list(range(40)), "number", "a number"),
        ([n / 7 for n in range(30)], "number", "holds decimal numbers"),
        (["low", "mid", "high"] * 9, None, "holds words). If they have an order, name them from the lowest to the"),
        (["low", "mid", "high"] * 9, None, "`order='high,low,mid'`"),
        (["low", "mid's", "high"] * 9, None, "from the lowest to the highest: `order='LOWEST,…,HIGHEST'`"),
        (["low", "mid`s", "high"] * 9, None, "from the lowest to the highest: `order='LOWEST,…,HIGHEST'`"),
        (["low", "mid" * 30, "high"] * 9, None, "from the lowest to the highest: `order='LOWEST,…,HIGHEST'`"),
        (GENRES, "several", "with '|' in between"),
    ],
)
def test_a_target_is_judged_by_its_content(labels: list[object], task: Task | None, words: str, tmp_path: Path) -> None:
    found = find_task(written(tmp_path, labels), by_content=True)
    assert found.source.task == task
    assert found.source.multilabel == ("|" if task == "several" else None)
    assert found.said is not None
    assert words in found.said


def test_an_order_is_suggested_with_labels_only_if_all_are_known(tmp_path: Path) -> None:
    grades = ["low", "mid", "high"] * 6_000
    found = find_task(written(tmp_path, [*grades, *["worst"] * 50]), by_content=True)
    assert str(found.said).endswith("If they have an order, `task='ordered'` lists them all, for you to sort")
    with pytest.raises(UsageError, match="`order='high,low,mid,worst'`"):
        read_sources(found.source.model_copy(update={"task": "ordered"}), ValidationConfig(), None)
    assert "order" not in str(find_task(written(tmp_path, ["good", "bad"] * 9), by_content=True).said)


def test_labels_are_classes_unless_they_hold_several(tmp_path: Path) -> None:
    plain = written(tmp_path, [1, 2, 3] * 5)
    assert find_task(plain) == (plain, None)
    assert find_task(written(tmp_path, GENRES)).source.task == "several"
    kept = written(tmp_path, GENRES).model_copy(update={"task": "classes"})
    assert find_task(kept) == (kept, None)


def test_an_order_alone_makes_classes_ordered(tmp_path: Path) -> None:
    source = written(tmp_path, ["a", "b"] * 5).model_copy(update={"order": ("b", "a")})
    found = find_task(source).source
    assert found.task == "ordered"
    train = read_sources(found, ValidationConfig(), None).train
    assert LabelSet.from_table(train) == LabelSet(names=("b", "a"), ordered=True)


def test_an_input_is_not_taken_for_what_is_learned(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows = range(30)
    columns = {"text": [f"text number {n}" for n in rows], "kind": ["a", "b"] * 15, "y": [n % 3 for n in rows]}
    pl.DataFrame(columns).write_csv(path)
    source = SourceConfig(train=str(path), columns=("kind",))
    assert "column 'y'" in str(find_task(source, by_content=True).said)
    with pytest.raises(UsageError, match="no column 'knd'"):
        find_task(source.model_copy(update={"columns": ("knd",)}))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"task": "number", "multilabel": "|"}, "contradict each other"),
        ({"task": "number", "order": ("a", "b")}, "has no order of classes"),
        ({"multilabel": "|", "order": ("a", "b")}, "have no order"),
        ({"task": "several"}, "not clear what separates"),
        ({"levels": "/", "multilabel": "|"}, "is for classes"),
        ({"levels": "/", "task": "number"}, "is for classes"),
        ({"levels": "/", "order": ("a", "b")}, "is for classes"),
        ({"levels": ""}, "is empty"),
    ],
)
def test_settings_that_contradict_each_other(settings: dict[str, object], words: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=words):
        find_task(written(tmp_path, ["a", "b"] * 5).model_copy(update=settings))


@pytest.mark.parametrize(
    ("labels", "order", "words"),
    [
        (["a", "b", "a", "c"], ("a", "b"), r"lacks the label 'c' \(row 4\)"),
        (["a", "b"], ("a", "b", "c"), "names 'c', which no row has"),
        (["a", "b"], ("a", "a", "b"), "names 'a' twice"),
        (["1", "2", "two"], None, r"'two' \(row 3\) is not a number"),
        (["1", "01", "2"], None, r"'01' \(row 2\) and '1' \(row 1\) are the same number"),
        (["-0", "0"], None, r"'-0' \(row 1\) and '0' \(row 2\) are the same number"),
        (["1", "inf"], None, r"'inf' \(row 2\) is not a number"),
    ],
)
def test_an_order_names_each_label_once(labels: list[str], order: tuple[str, ...] | None, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ordered_labels(table_of(labels), order)


def test_numbers_are_ordered_by_size() -> None:
    assert ordered_labels(table_of(["10", "9", "-1", "9"]), None) == ("-1", "9", "10")
    huge = ("9007199254740992", "9007199254740993")  # equal as floats
    assert ordered_labels(table_of([*huge[::-1]]), None) == huge
    assert is_scale([1, 2, 3])
    assert not is_scale([0, 1])
    assert not is_scale([1, 2, 4])
    assert not is_scale([float(n) for n in range(12)])
