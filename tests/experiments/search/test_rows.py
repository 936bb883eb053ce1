from pathlib import Path

import pytest

from glassformer.data.sources import Sources
from glassformer.data.table import Table, read_table
from glassformer.errors import UsageError
from glassformer.experiments.search import rows
from glassformer.experiments.search.rows import inner_parts, never_held_out, outer_cuts, usable_rows
from tests.trained import write_csv
from tests.training.samples import opinions


def texts(table: Table) -> set[str]:
    return set(table.frame["text"])


def grouped(tmp_path: Path, count: int, groups: int) -> Table:
    lines = [(f"word{number % 7} text {number}", "ab"[number % 2], f"g{number % groups}") for number in range(count)]
    return read_table(write_csv(tmp_path / "t.csv", lines, ("text", "label", "author")), group="author")


def test_a_fifth_is_held_out_and_no_part_has_its_rows() -> None:
    table = opinions(600)
    (cut,) = outer_cuts(table, None, seed=0)
    assert cut.unseen is not None
    assert cut.unseen.frame.height == 120
    assert texts(cut.searched).isdisjoint(texts(cut.unseen))
    assert texts(cut.searched) | texts(cut.unseen) == texts(table)
    parts = inner_parts(cut.searched, None, seed=5)
    assert [part.seed for part in parts] == [5, 6, 7]
    for part in parts:
        assert texts(part.learned).isdisjoint(texts(part.judged))
        assert texts(part.learned) | texts(part.judged) == texts(cut.searched)


def test_few_rows_are_each_held_out_once_and_then_none() -> None:
    table = opinions(120)
    *folds, last = outer_cuts(table, None, seed=0)
    unseen = [text for cut in folds if cut.unseen is not None for text in cut.unseen.frame["text"]]
    assert sorted(unseen) == sorted(table.frame["text"])
    assert all(texts(cut.searched).isdisjoint(texts(cut.unseen)) for cut in folds if cut.unseen is not None)
    assert (last.unseen, last.searched) == (None, table)


@pytest.mark.parametrize("few", [0, 10_000])
def test_no_group_is_split(few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FEW_ROWS", few)
    cuts = outer_cuts(grouped(tmp_path, 200, 20), "author", seed=0)
    for cut in cuts:
        sides = [cut.searched, *([] if cut.unseen is None else [cut.unseen])]
        sides += [side for part in inner_parts(cut.searched, None, seed=0)[:1] for side in (part.learned, part.judged)]
        for one, other in ((sides[0], sides[1]), (sides[-2], sides[-1])):
            assert set(one.frame["group"]).isdisjoint(other.frame["group"]) or (one is sides[0] and cut.unseen is None)


def test_rows_of_a_rare_class_are_learned_from(tmp_path: Path) -> None:
    lines = [(f"text number {number}", "common" if number % 2 else "usual") for number in range(100)]
    lines += [("odd one", "rare"), ("odd two", "rare")]
    table = read_table(write_csv(tmp_path / "t.csv", lines))
    cuts = outer_cuts(table, None, seed=0)
    unseen = [cut.unseen for cut in cuts if cut.unseen is not None]
    assert never_held_out(table, unseen) == ["rare"]
    for cut in cuts:
        assert (cut.searched.frame["label"] == "rare").sum() == 2
        for part in inner_parts(cut.searched, None, seed=0):
            assert set(part.learned.frame["label"]) == {"common", "usual", "rare"}


def test_several_labels_of_which_one_is_rare(tmp_path: Path) -> None:
    lines = [(f"text number {number}", "a|b" if number % 2 else "a") for number in range(90)]
    lines += [("odd one", "a|rare"), ("odd two", "rare")]
    table = read_table(write_csv(tmp_path / "t.csv", lines), multilabel="|")
    for cut in outer_cuts(table, None, seed=0):
        for part in inner_parts(cut.searched, None, seed=0):
            assert set(part.learned.frame["label"].explode()) >= {"a", "b", "rare"}


def test_validation_rows_of_the_user_rate_every_trial() -> None:
    table, validation = opinions(100), opinions(30)
    parts = inner_parts(table, validation, seed=1)
    assert all(part.learned is table and part.judged is validation for part in parts)
    assert [part.seed for part in parts] == [1, 2, 3]


def test_texts_of_test_and_validation_rows_are_left_out() -> None:
    table = opinions(200)
    other = read_table_of(table, 20)
    assert texts(usable_rows(Sources(train=table, test=other), seed=0)).isdisjoint(texts(other))
    assert texts(usable_rows(Sources(train=table, validation=other), seed=0)).isdisjoint(texts(other))


def read_table_of(table: Table, count: int) -> Table:
    return Table(frame=table.frame[:count], source="other", text_column="text", label_column="label")


def test_a_table_that_is_too_small_is_refused() -> None:
    with pytest.raises(UsageError, match="40 rows to learn from, and a search needs at least 60"):
        usable_rows(Sources(train=opinions(40)), seed=0)
    lines = opinions(120)
    one_group = Table(
        frame=lines.frame.with_columns(group=lines.frame["label"]), source="t.csv", text_column="text",
        label_column="label",
    )  # fmt: skip
    with pytest.raises(UsageError, match="the groups are too few, to hold any rows out"):
        outer_cuts(one_group, "group", seed=0)
