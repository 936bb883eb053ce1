from dataclasses import replace

import polars as pl
import pytest

from glassformer.data.sources import Sources
from glassformer.data.spellings import new_labels
from glassformer.data.splits import REPLAYED, Splits, ValidationConfig, joined, with_added
from glassformer.data.table import Table
from glassformer.errors import UsageError


def table(rows: list[tuple[str, str]], source: str = "old.csv") -> Table:
    frame = pl.DataFrame(rows, schema=["text", "label"], orient="row").with_row_index("row", 1)
    return Table(frame=frame, source=source, text_column="text", label_column="label")


def rows_of(found: Table | None) -> list[tuple[str, str]]:
    assert found is not None
    return found.frame.select("text", "label").rows()


OLD = [(f"old {number}", "a" if number % 2 else "b") for number in range(20)]
HELD_OUT = [("held out 1", "a"), ("held out 2", "b")]
NEW = [(f"new {number}", "c") for number in range(20)]
SPLITS = Splits(train=table(OLD), validation=table(HELD_OUT), notes=("before",))


def added(
    splits: Splits = SPLITS, new: list[tuple[str, str]] = NEW, test: Table | None = None, **more: float
) -> Splits:
    more = {"fraction": 0.1, "replay": 1.0} | more
    return with_added(splits, table(new, "new.csv"), seed=0, test=test, **more)


def test_what_was_held_out_stays_so_and_a_tenth_of_the_new_rows_joins_it() -> None:
    found = added()
    assert rows_of(found.train)[:20] == OLD
    assert rows_of(found.validation)[:2] == HELD_OUT
    assert len(rows_of(found.validation)) == 4
    assert sorted(rows_of(found.train)[20:] + rows_of(found.validation)[2:]) == sorted(NEW)
    assert found.train.frame["row"].is_unique().all()
    assert found.train.source == "old.csv and new.csv"
    assert found.notes == ("before", "added: 18 rows of new.csv to learn from")
    assert REPLAYED not in found.train.frame.columns


def test_it_is_said_that_texts_have_another_label_than_before() -> None:
    found = added(new=[("old 1", "b"), ("old 3", "c"), *NEW, ("twice", "a"), ("twice", "b")], fraction=0)
    assert found.notes[2:] == ("2 texts of new.csv learned with another label than before; all are kept",)


def test_it_is_said_which_labels_are_new() -> None:
    assert new_labels(table([("new", "a")]), table(OLD)) is None
    found = new_labels(table([("new 1", "C"), ("new 2", "A"), ("new 3", "A")]), table(OLD))
    assert found == "new labels: 'A' (2), which differs from 'a' only by case or white space; 'C' (1)"


def test_each_note_names_its_table() -> None:
    old, new = (replace(table(rows, name), notes=("2 rows have no label",)) for rows, name in ((OLD, "a"), (NEW, "b")))
    found = Sources(train=old, added=(new,)).split(ValidationConfig(), seed=0)
    assert found.train.notes == ("a: 2 rows have no label", "b: 2 rows have no label")
    assert found.notes[0].startswith("a: validation: no rows are set aside, as 20 rows are fewer")


def test_texts_that_were_learned_under_another_label_are_not_held_out() -> None:
    corrected = [(text, "c") for text, _ in OLD[:10]]
    found = added(new=corrected + NEW, fraction=0.5)
    assert len(rows_of(found.validation)) > len(HELD_OUT)
    assert not {text for text, _ in rows_of(found.validation)} & {text for text, _ in OLD}
    assert set(corrected) < set(rows_of(found.train))
    assert rows_of(added(new=[(text, "c") for text, _ in OLD]).validation) == HELD_OUT


def test_without_held_out_rows_all_are_learned() -> None:
    assert added(Splits(train=table(OLD), validation=None, notes=())).validation is None
    assert rows_of(added(fraction=0.0).validation) == HELD_OUT


def test_rows_that_were_learned_or_are_held_out_are_not_new() -> None:
    again = [("old 1", "a"), ("old 3", "c"), ("held out 1", "c"), ("tested", "c"), ("fresh", "c")]
    found = added(new=again, test=table([("tested", "a")], "test.csv"), fraction=0.0)
    assert rows_of(found.train)[20:] == [("old 3", "c"), ("fresh", "c")]
    assert {(each.reason, tuple(each.rows)) for each in found.train.dropped} == {
        ("learned before, in new.csv", (1,)),
        ("duplicate of a validation text, in new.csv", (3,)),
        ("duplicate of a test text, in new.csv", (4,)),
    }
    with pytest.raises(UsageError, match=r"new\.csv: no row is left to learn from"):
        added(new=OLD[:4] + HELD_OUT)


def of_people(rows: list[tuple[str, str]], people: list[str | None], source: str = "old.csv") -> Table:
    plain = table(rows, source)
    return replace(plain, frame=plain.frame.with_columns(group=pl.Series(people, dtype=pl.String)))


def test_new_rows_of_a_group_are_on_its_side_and_no_new_group_is_split() -> None:
    train = of_people(OLD, [f"learned {number % 4}" for number in range(20)])
    before = Splits(train=train, validation=of_people(HELD_OUT, ["held out"] * 2), notes=())
    people = ["learned 1", "held out", "held out", *[f"new {number // 3}" for number in range(30)], None, None, None]
    new = [(f"new {number}", "c") for number in range(33)] + [("alone 1", "c"), ("alone 2", "c"), ("alone 1", "d")]
    new[2] = ("old 1", "a" if OLD[1][1] == "b" else "b")  # the model learned this text
    found = with_added(before, of_people(new, people, "new.csv"), fraction=0.3, seed=0, test=None)
    assert found.validation is not None
    learned, held_out = (set(each.frame["group"]) for each in (found.train, found.validation))
    assert not learned & held_out
    assert "learned 1" in learned
    assert len(held_out) == 1 + round(0.3 * 12), "ten people are new, and two texts of nobody"
    assert len({name for name in learned | held_out if "alone" in name}) == 2
    assert found.validation.frame.filter(group="held out")["text"].to_list() == ["held out 1", "held out 2", "new 1"]
    assert [drop.reason for drop in found.train.dropped] == ["learned before, now in a held-out group, in new.csv"]
    assert found.train.frame.height + found.validation.frame.height == 20 + 2 + 36 - 1
    alone = with_added(before, of_people([("one more", "c")], [None], "new.csv"), fraction=0.1, seed=0, test=None)
    assert alone.train.frame["text"].to_list()[20:] == ["one more"]
    with pytest.raises(UsageError, match="or they are held out, such as all rows of held-out groups"):
        with_added(before, of_people([("one more", "c")], ["held out"], "new.csv"), fraction=0.1, seed=0, test=None)


def test_a_table_without_groups_joins_one_with_groups() -> None:
    grouped = of_people(OLD, ["a", "b"] * 10)
    new = table([*NEW, (NEW[0][0], "d")])
    assert joined(grouped, new).frame["group"].n_unique() == 2 + 20
    found = with_added(Splits(train=grouped, validation=None, notes=()), new, fraction=0.1, seed=0, test=None)
    assert found.train.frame["group"].n_unique() == 2 + 20
    assert "group" not in joined(table(OLD), of_people(NEW, ["a"] * 20)).frame.columns


def test_a_share_of_the_old_rows_is_learned_again() -> None:
    frame = added(replay=0.25).train.frame
    assert frame[REPLAYED][20:].all()
    assert frame[REPLAYED][:20].sum() == 5
    assert frame.equals(added(replay=0.25).train.frame)
    assert added(replay=0.0).train.frame[REPLAYED].sum() == 18


def test_tables_with_several_labels_are_joined() -> None:
    def several(rows: list[tuple[str, list[str]]]) -> Table:
        frame = pl.DataFrame(rows, schema={"text": pl.String, "label": pl.List(pl.String)}, orient="row")
        return Table(
            frame=frame.with_row_index("row", 1), source="t", text_column="text", label_column="label", multilabel=True
        )

    old = several([("x", ["a", "b"]), ("y", [])])
    found = with_added(
        Splits(train=old, validation=None, notes=()),
        several([("x", ["b", "a"]), ("z", ["c"])]),
        fraction=None,
        seed=0,
        test=None,
    )
    assert found.train.frame["text"].to_list() == ["x", "y", "z"]
    assert joined(old, old).frame["row"].to_list() == [1, 2, 3, 4]
