from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.sources import Sources
from glassformer.data.splits import ValidationConfig
from glassformer.data.table import Table, read_table, text_keys
from glassformer.errors import UsageError
from glassformer.experiments.search import rows
from glassformer.experiments.search.rows import Cut, all_rows, inner_parts, outer_cuts, units_of, usable_rows
from glassformer.targets.labels.experiments import PART as LABELS
from tests.trained import write_csv
from tests.training.samples import opinions


def texts(table: Table) -> set[str]:
    return set(table.frame["text"])


def grouped(tmp_path: Path, count: int, groups: int) -> Table:
    lines = [(f"word{number % 7} text {number}", "ab"[number % 2], f"g{number % groups}") for number in range(count)]
    return read_table(write_csv(tmp_path / "t.csv", lines, ("text", "label", "author")), group="author")


def test_a_fifth_is_held_out_and_no_part_has_its_rows() -> None:
    table = opinions(600)
    (cut,) = outer_cuts(table, ValidationConfig(), LABELS, seed=0)
    assert cut.unseen is not None
    assert cut.unseen.frame.height == 120
    assert texts(cut.searched).isdisjoint(texts(cut.unseen))
    assert texts(cut.searched) | texts(cut.unseen) == texts(table)
    parts = inner_parts(cut.searched, None, LABELS, seed=5)
    assert [part.seed for part in parts] == [5, 6, 7]
    for part in parts:
        assert texts(part.learned).isdisjoint(texts(part.judged))
        assert texts(part.learned) | texts(part.judged) == texts(cut.searched)


def test_few_rows_are_each_held_out_once_and_then_none() -> None:
    table = opinions(120)
    *folds, last = outer_cuts(table, ValidationConfig(), LABELS, seed=0)
    unseen = [text for cut in folds if cut.unseen is not None for text in cut.unseen.frame["text"]]
    assert sorted(unseen) == sorted(table.frame["text"])
    assert all(texts(cut.searched).isdisjoint(texts(cut.unseen)) for cut in folds if cut.unseen is not None)
    assert (last.unseen, last.searched) == (None, table)


@pytest.mark.parametrize("count", [120, 600])
def test_the_latest_fifth_is_held_out_also_of_few_rows(count: int) -> None:
    days = pl.Series("time", [datetime(2024, 1, 1) + timedelta(days=number) for number in range(count)])
    table = replace(opinions(count), frame=opinions(count).frame.with_columns(days))
    (cut,) = outer_cuts(table, ValidationConfig(time="day"), LABELS, seed=0)
    assert cut.unseen is not None
    assert cut.unseen.frame["row"].to_list() == list(range(count * 4 // 5 + 1, count + 1))


@pytest.mark.parametrize("few", [0, 10_000])
def test_no_group_is_split(few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FEW_ROWS", few)
    cuts = outer_cuts(grouped(tmp_path, 200, 20), ValidationConfig(group="author"), LABELS, seed=0)
    for cut in cuts:
        sides = [cut.searched, *([] if cut.unseen is None else [cut.unseen])]
        sides += [
            side for part in inner_parts(cut.searched, None, LABELS, seed=0)[:1] for side in (part.learned, part.judged)
        ]
        for one, other in ((sides[0], sides[1]), (sides[-2], sides[-1])):
            assert set(one.frame["group"]).isdisjoint(other.frame["group"]) or (one is sides[0] and cut.unseen is None)


def sides(cut: Cut) -> list[tuple[Table, Table]]:
    """The searched and the unseen rows, and what each trial learns from and is rated on."""
    parts = [(part.learned, part.judged) for part in inner_parts(cut.searched, None, LABELS, seed=0)]
    assert len(parts) == 3
    return parts if cut.unseen is None else [(cut.searched, cut.unseen), *parts]


def shuffled_texts(count: int, texts: int) -> list[str]:
    return [f"word{number % 7} text {number * 11 % texts}" for number in range(count)]


@pytest.mark.parametrize("few", [0, 10_000])
@pytest.mark.parametrize("distinct", [40, 100, 190])
def test_no_text_is_on_both_sides(distinct: int, few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether few or many texts are repeated, and if a class is so rare that texts are moved back."""
    monkeypatch.setattr(rows, "FEW_ROWS", few)
    repeated = [(text, "ab"[number % 2]) for number, text in enumerate(shuffled_texts(200, distinct))]
    repeated += [("odd one", "rare"), (" odd one", "rare"), ("odd one", "a"), ("odd two", "rare")]
    table = read_table(write_csv(tmp_path / "t.csv", repeated))
    for cut in outer_cuts(table, ValidationConfig(), LABELS, seed=0):
        for one, other in sides(cut):
            assert keys(one).isdisjoint(keys(other))
            assert (one.frame["label"] == "rare").sum() >= 2
        if cut.unseen is not None:
            assert cut.searched.frame.height + cut.unseen.frame.height == table.frame.height


def keys(table: Table) -> set[str]:
    return set(text_keys(table.frame["text"]))


@pytest.mark.parametrize("few", [0, 10_000])
def test_a_text_of_several_groups_is_learned_or_measured(
    few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its other rows are then left out: moving them would split their groups."""
    monkeypatch.setattr(rows, "FEW_ROWS", few)
    lines = [
        ("ok" if number % 13 == 0 else f"text {number}", "ab"[number % 2], f"g{number % 20}") for number in range(200)
    ]
    table = read_table(write_csv(tmp_path / "t.csv", lines, ("text", "label", "author")), group="author")
    cuts = outer_cuts(table, ValidationConfig(group="author"), LABELS, seed=0)
    for cut in cuts:
        for one, other in sides(cut):
            assert keys(one).isdisjoint(keys(other))
            assert set(one.frame["group"]).isdisjoint(other.frame["group"])
    unseen = [cut.unseen for cut in cuts if cut.unseen is not None]
    assert any("ok" in keys(each) for each in unseen)
    if few:
        assert sum(each.frame.height for each in unseen) == 200
    assert len(set(units_of(all_rows(unseen)))) == len({group for each in unseen for group in each.frame["group"]})


def test_groups_move_back_whole_if_a_class_needs_them(tmp_path: Path) -> None:
    lines = [(f"text {number}", "ab"[number % 2], f"g{number % 20}") for number in range(200)]
    lines += [("odd one", "rare", "g3"), ("odd two", "rare", "g4"), ("odd one", "a", "g5")]
    table = read_table(write_csv(tmp_path / "t.csv", lines, ("text", "label", "author")), group="author")
    for cut in outer_cuts(table, ValidationConfig(group="author"), LABELS, seed=0):
        for one, other in sides(cut):
            assert (one.frame["label"] == "rare").sum() == 2
            assert set(one.frame["group"]).isdisjoint(other.frame["group"])
            assert keys(one).isdisjoint(keys(other))


@pytest.mark.parametrize("few", [0, 10_000])
def test_too_few_texts_or_groups_are_refused(few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FEW_ROWS", few)
    with pytest.raises(UsageError, match="4 groups, and a search needs at least 5"):
        outer_cuts(grouped(tmp_path, 100, 4), ValidationConfig(group="author"), LABELS, seed=0)
    for cut in outer_cuts(grouped(tmp_path, 100, 5), ValidationConfig(group="author"), LABELS, seed=0):
        sides(cut)
    lines = [(f"text {number % 4}", "ab"[number % 2]) for number in range(100)]
    with pytest.raises(UsageError, match="4 distinct texts, and a search needs at least 5"):
        outer_cuts(read_table(write_csv(tmp_path / "t.csv", lines)), ValidationConfig(), LABELS, seed=0)


def test_rows_of_a_rare_class_are_learned_from(tmp_path: Path) -> None:
    lines = [(f"text number {number}", "common" if number % 2 else "usual") for number in range(100)]
    lines += [("odd one", "rare"), ("odd two", "rare")]
    table = read_table(write_csv(tmp_path / "t.csv", lines))
    cuts = outer_cuts(table, ValidationConfig(), LABELS, seed=0)
    unseen = [cut.unseen for cut in cuts if cut.unseen is not None]
    assert LABELS.never_held_out(table, all_rows(unseen)) == ["rare"]
    for cut in cuts:
        assert (cut.searched.frame["label"] == "rare").sum() == 2
        for part in inner_parts(cut.searched, None, LABELS, seed=0):
            assert set(part.learned.frame["label"]) == {"common", "usual", "rare"}


def test_several_labels_of_which_one_is_rare(tmp_path: Path) -> None:
    lines = [(f"text number {number}", "a|b" if number % 2 else "a") for number in range(90)]
    lines += [("odd one", "a|rare"), ("odd two", "rare")]
    table = read_table(write_csv(tmp_path / "t.csv", lines), multilabel="|")
    for cut in outer_cuts(table, ValidationConfig(), LABELS, seed=0):
        for part in inner_parts(cut.searched, None, LABELS, seed=0):
            assert set(part.learned.frame["label"].explode()) >= {"a", "b", "rare"}


def test_validation_rows_of_the_user_rate_every_trial() -> None:
    table, validation = opinions(100), opinions(30)
    parts = inner_parts(table, validation, LABELS, seed=1)
    assert all(part.learned is table and part.judged is validation for part in parts)
    assert [part.seed for part in parts] == [1, 2, 3]


@pytest.mark.parametrize("validation", [None, opinions(30)])
def test_the_seed_after_the_largest_one_is_0(validation: Table | None) -> None:
    parts = inner_parts(opinions(100), validation, LABELS, seed=2**32 - 1)
    assert [part.seed for part in parts] == [2**32 - 1, 0, 1]


def test_texts_of_test_and_validation_rows_are_left_out() -> None:
    table = opinions(200)
    other = read_table_of(table, 20)
    assert texts(usable_rows(Sources(train=table, test=other), LABELS, seed=0)).isdisjoint(texts(other))
    assert texts(usable_rows(Sources(train=table, validation=other), LABELS, seed=0)).isdisjoint(texts(other))


def read_table_of(table: Table, count: int) -> Table:
    return Table(frame=table.frame[:count], source="other", text_column="text", label_column="label")


def test_a_table_that_is_too_small_is_refused() -> None:
    with pytest.raises(UsageError, match="40 rows to learn from, and a search needs at least 60"):
        usable_rows(Sources(train=opinions(40)), LABELS, seed=0)
    lines = opinions(120)
    one_group = Table(
        frame=lines.frame.with_columns(group=lines.frame["label"]), source="t.csv", text_column="text",
        label_column="label",
    )  # fmt: skip
    with pytest.raises(UsageError, match="2 groups, and a search needs at least 5"):
        outer_cuts(one_group, ValidationConfig(group="group"), LABELS, seed=0)
    own = Table(
        frame=lines.frame.with_columns(label=(lines.frame["row"] - 1) // 2, group=lines.frame["row"] % 6).cast(
            {"label": str, "group": str}
        ),
        source="t.csv", text_column="text", label_column="label",
    )  # fmt: skip
    with pytest.raises(UsageError, match="the groups are too few, to hold any rows out"):
        outer_cuts(own, ValidationConfig(group="group"), LABELS, seed=0)
