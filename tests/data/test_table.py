import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassformer.data import table
from glassformer.data.rows import ROWS_PER_BATCH
from glassformer.data.table import MOST_OTHERS, Dropped, other_columns, read_table, row_list
from glassformer.data.wording import counted
from glassformer.errors import UsageError

LONG = ["a rather long text", "another text, longer still", "short enough", "and a last one here"]


def csv_of(tmp_path: Path, **columns: Sequence[object]) -> Path:
    path = tmp_path / "table.csv"
    pl.DataFrame(columns, strict=False).write_csv(path)
    return path


def test_text_and_label_are_found_by_name_in_any_case(tmp_path: Path) -> None:
    path = csv_of(tmp_path, id=[1, 2, 3, 4], Sentiment=["x", "y", "x", "y"], Review=LONG, stars=[1, 2, 1, 2])
    table = read_table(path)
    assert (table.text_column, table.label_column) == ("Review", "Sentiment")
    assert table.frame.columns == ["row", "text", "label"]
    assert table.frame["row"].to_list() == [1, 2, 3, 4]
    assert table.frame.schema["row"] == pl.UInt32
    assert table.notes == ("text column: 'Review' (by its name)", "label column: 'Sentiment' (by its name)")


def test_the_levels_of_a_label_may_be_columns(tmp_path: Path) -> None:
    levels: dict[str, Sequence[object]] = {
        "aisle": ["food", " food", "drink", ""],
        "kind": ["fruit", "", "tea", "beer"],
        "number": [1.0, 2.0, None, 3],
    }
    path = csv_of(tmp_path, text=LONG, **levels)
    table = read_table(path, text="text", label="aisle", lower=("kind", "number"), levels=" > ")
    assert table.frame["label"].to_list() == ["food > fruit > 1", "food", "drink > tea"]  # it ends at an empty cell
    assert table.dropped == (Dropped(reason="no label", rows=[4]),)
    assert (table.label_column, table.lower, table.levels) == ("aisle", ("kind", "number"), " > ")
    assert other_columns(path, table).columns == []
    with pytest.raises(UsageError, match=r"table\.csv: .* hold 'food', 'fruit', '1', and joined by 'ui' these"):
        read_table(path, text="text", label="aisle", lower=("kind", "number"), levels="ui")
    for lower in (("text",), ("aisle",), ("kind", "kind")):
        with pytest.raises(UsageError, match=r"twice; name it once|cannot be both"):
            read_table(path, text="text", label="aisle", lower=lower, levels=" > ")


def test_text_and_label_are_found_by_content(tmp_path: Path) -> None:
    table = read_table(csv_of(tmp_path, id=[1, 2, 3, 4], what=["x", "y", "x", "y"], said=LONG))
    assert (table.text_column, table.label_column) == ("said", "what")
    assert table.notes == ("text column: 'said' (the longest text)", "label column: 'what' (2 values)")


def test_a_second_text_that_is_left_out_is_named_with_the_way_to_read_both(tmp_path: Path) -> None:
    said, answers, names = LONG, [f"{text} indeed" for text in LONG], ["Ann B", "Cy D", "Ed F", "Gus H"]
    path = csv_of(tmp_path, question=said, answer=answers, label=["x", "y", "x", "y"], author=names)
    left_out = "text column: 'question' (by its name); left out: 'answer', which holds texts too"
    (note,) = read_table(path, label="label", number=False).notes
    assert note == f"{left_out}; to read both: `text='question'` `text='answer'`"
    assert read_table(path, label="label").notes == (left_out,)  # for a model that reads one text
    assert read_table(path, label="label", text="question", number=False).notes == ()
    assert "answer" not in read_table(path, label="label", number=False, other_texts=["answer"]).notes[0]


@pytest.mark.parametrize("order", [("said", "what"), ("what", "said")])
def test_a_table_of_two_columns_needs_no_names(tmp_path: Path, order: tuple[str, str]) -> None:
    columns: dict[str, Sequence[object]] = {"said": LONG, "what": ["w", "x", "y", "z"]}
    table = read_table(csv_of(tmp_path, **{name: columns[name] for name in order}))
    assert table.text_column == "said"
    assert table.frame["label"].to_list() == ["w", "x", "y", "z"]


def test_flags_win_over_names(tmp_path: Path) -> None:
    path = csv_of(tmp_path, text=["a", "b", "c", "d"], label=[1, 2, 1, 2], other=LONG, group=[7, 7, 8, 8])
    table = read_table(path, text="other", label="text", group="group")
    assert table.frame.row(0) == (1, LONG[0], "a", "7")
    assert table.notes == ()


def test_an_unlabelled_table_has_no_label(tmp_path: Path) -> None:
    table = read_table(csv_of(tmp_path, label=[1, 2, 1, 2], body=LONG), labelled=False)
    assert table.frame.columns == ["row", "text"]
    assert table.label_column is None
    alone = read_table(csv_of(tmp_path, anything=["a", "b"]), labelled=False)
    assert alone.frame["text"].to_list() == ["a", "b"]


@pytest.mark.parametrize(
    ("columns", "flags", "message"),
    [
        (
            {"one": LONG, "two": LONG[::-1]},
            {},
            "(?s)which column holds the text.*`text=`.*'one': 'a rather long text', ",
        ),
        ({"one": [1, 2, 3, 4], "two": [5, 6, 7, 8]}, {}, "which column holds the text"),
        ({"text": LONG, "p": [1, 1, 2, 2], "q": [1, 2, 2, 1]}, {}, "(?s)which column holds the label.*`label=`"),
        (
            {"text": LONG},
            {},
            "(?s)no column looks like labels.*`label=`.*`glassformer desk TABLE`.*'text': 'a rather long text'",
        ),
        ({"text": LONG, "label": [1, 1, 2, 2]}, {"label": "lable"}, "no column 'lable' .`label=`.*mean 'label'"),
        ({"text": LONG, "label": [1, 1, 2, 2]}, {"label": "label", "group": "label"}, "both `label=` and `group="),
        (
            {"text": LONG, "label": [None] * 4},
            {"label": "label"},
            "no row has a label in the column 'label'.*`glassformer desk TABLE` lets you label",
        ),
        ({"text": LONG, "label": [1, 1, 2, 2]}, {"group": "zzz"}, "no column 'zzz' .`group=`.. It has"),
        ({"text": LONG, "label": [1, 1, 2, 2]}, {"text": "text", "label": "text"}, "both `text=` and `label=`"),
        ({"this film was good": LONG, "1": ["1", "2", "1", "2"]}, {}, "first row looks like data"),
        ({"good": LONG, "1": ["1", "2", "1", "2"]}, {}, "first row looks like data: '1'"),
        (
            {"text": LONG, "label": [1, 1, 2, 2], "g": ["a", None, "b", None]},
            {"group": "g"},
            "rows 2 and 4 have no value",
        ),
        ({"text": ["", " "], "label": ["1", "2"]}, {}, "no usable row .2 × empty text"),
    ],
)
def test_an_unclear_table_is_refused(
    tmp_path: Path, columns: Mapping[str, Sequence[object]], flags: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        read_table(csv_of(tmp_path, **columns), **flags)


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    path = csv_of(tmp_path, text=["a", "", " \t", "b", "c", None], label=["x", "x", None, None, " ", "y"])
    table = read_table(path)
    assert table.frame["row"].to_list() == [1]
    assert table.dropped == (
        Dropped(reason="empty text", rows=[2, 3, 6]),
        Dropped(reason="no label", rows=[4, 5]),
    )


def test_a_column_of_dates_is_noticed(tmp_path: Path) -> None:
    same, clock, day = ["2024-01-01"] * 4, ["12:30", "12:31"] * 2, ["2024-01-01", "", "2024-03-02", ""]
    path = csv_of(tmp_path, text=LONG, label=[1, 1, 2, 2], same=same, clock=clock, day=day)
    assert read_table(path, time=None).dated == "day"
    path = csv_of(tmp_path, text=LONG, label=[1, 1, 2, 2], day=["2024-01-01", "2024-01-02"] * 2)
    assert read_table(path, time="day").dated is None
    assert read_table(path).dated is None  # nothing is learned
    assert read_table(csv_of(tmp_path, text=LONG, label=[1, 1, 2, 2], n=[1, 2, 3, 4]), time=None).dated is None


def test_rows_without_a_label_are_kept_apart(tmp_path: Path) -> None:
    table = read_table(csv_of(tmp_path, text=["a", "", "b", "c"], label=["x", None, None, " "]))
    assert table.unlabelled is not None
    assert table.unlabelled.rows() == [(3, "b", None), (4, "c", None)]
    assert table.without_label == "2 of 3 rows have no label"
    whole = read_table(csv_of(tmp_path, text=["a", "", "b"], label=["x", None, "y"]))
    assert whole.unlabelled is None
    assert whole.without_label is None
    several = read_table(csv_of(tmp_path, text=["a", "b"], label=["x", None]), multilabel="|")
    assert several.frame.height == 2
    assert several.unlabelled is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2], ["1", "2"]),
        ([1.0, 2.5], ["1", "2.5"]),
        ([-1.0, float("nan")], ["-1", None]),
        ([True, False], ["true", "false"]),
        ([" yes ", "v1.0"], ["yes", "v1.0"]),
    ],
)
def test_labels_of_any_type_become_strings(tmp_path: Path, values: list[object], expected: list[str | None]) -> None:
    frame = pl.DataFrame({"text": ["p", "q"], "label": values})
    frame.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in frame.iter_rows(named=True)))
    for name in ("a.parquet", "a.jsonl"):
        table = read_table(tmp_path / name, label="label")
        assert table.frame["label"].to_list() == [label for label in expected if label], name


def test_a_group_is_one_in_both_forms_of_unicode(tmp_path: Path) -> None:
    path = csv_of(tmp_path, text=["a", "b", "c"], label=[1, 2, 1], by=["Jos\u00e9", "Jose\u0301", "Jose"])
    assert read_table(path, group="by").frame["group"].to_list() == ["Jos\u00e9", "Jos\u00e9", "Jose"]


def test_a_row_that_is_left_out_needs_no_group(tmp_path: Path) -> None:
    path = csv_of(tmp_path, text=["a", "b", "c", ""], label=["x", "y", None, "x"], by=["p", "q", None, None])
    assert read_table(path, group="by").frame["group"].to_list() == ["p", "q"]


def test_another_separator_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,label\np,a|b\nq,b|c\nr,a\n")
    (note,) = (note for note in read_table(tmp_path / "a.csv", multilabel=";").notes if "';'" in note)
    assert note.endswith("2 of its 3 labels hold '|': is it `multilabel='|'`?")


def test_several_labels_from_a_separator_a_json_list_or_a_parquet_list(tmp_path: Path) -> None:
    expected = [["a", "b"], [], ["b"]]
    lists = pl.DataFrame({"text": ["p", "q", "r"], "label": [["a", " b", "a"], [], ["b", None]]})
    lists.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lists.iter_rows(named=True)))
    (tmp_path / "a.csv").write_text("text,label\np,a| b|a\nq,\nr,|b\n")
    for name in ("a.parquet", "a.jsonl", "a.csv"):
        table = read_table(tmp_path / name, multilabel="|")
        assert table.multilabel
        assert table.frame.schema["label"] == pl.List(pl.String)
        assert table.frame["label"].to_list() == expected, name
        assert table.dropped == ()
    for name in ("a.parquet", "a.jsonl"):
        with pytest.raises(UsageError, match=r"holds lists.*`multilabel="):
            read_table(tmp_path / name)


def test_the_separator_of_columns_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('"text, said";label\nx;1\n')
    table = read_table(tmp_path / "a.csv", text="text, said")
    assert table.notes[0] == "columns are separated by semicolon (counted in the header)"


def test_a_number_has_the_words_that_go_with_it() -> None:
    assert (counted(1, "row"), counted(0, "row"), counted(1234, "row")) == ("1 row", "0 rows", "1,234 rows")
    assert (counted(1, "text occurs", "texts occur"), counted(2, "text occurs", "texts occur")) == (
        "1 text occurs",
        "2 texts occur",
    )


def test_a_label_of_one_value(tmp_path: Path) -> None:
    table = read_table(csv_of(tmp_path, what=["x"] * 4, said=LONG))
    assert table.notes[1] == "label column: 'what' (1 value)"


def test_row_list_is_short() -> None:
    assert row_list([3]) == "row 3"
    assert row_list([3, 4, 9]) == "rows 3, 4 and 9"
    assert row_list(list(range(1, 18))) == "rows 1, 2, 3, 4, 5 and 12 more"


@pytest.mark.parametrize(("values", "words"), [([["a"], ["b"]], "List"), ([b"a", b"\xff"], "Binary")])
def test_columns_that_are_no_text_are_refused(values: list[object], words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"odd": values, "text": ["x", "y"], "label": ["p", "n"]}).write_parquet(path)
    with pytest.raises(UsageError, match=rf"'odd' holds {words}.*`text=`"):
        read_table(path, text="odd")
    with pytest.raises(UsageError, match="'odd' holds"):
        read_table(path, label="odd")
    assert read_table(path).frame["text"].to_list() == ["x", "y"]


def others_of(path: Path) -> pl.DataFrame:
    return other_columns(path, read_table(path))


def test_other_columns_stand_beside_the_rows_in_use(tmp_path: Path) -> None:
    path = csv_of(
        tmp_path,
        text=["one", " ", "three", "four"],
        label=["x", "y", "x", None],
        shop=["north ", "south", "", "west"],
        stars=[1.0, 2.0, 3.0, 4.0],
    )
    assert others_of(path).to_dicts() == [{"shop": "north", "stars": "1"}, {"shop": None, "stars": "3"}]
    assert others_of(csv_of(tmp_path, text=LONG, label=["x", "y", "x", "y"])).is_empty()


def test_other_columns_have_few_values_or_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    n = 60
    path = csv_of(
        tmp_path,
        text=LONG * 15,
        label=["x", "y"] * 30,
        order_id=list(range(n)),
        price=[number / 7 for number in range(n)],
        name=[f"name {number}" for number in range(n)],
        shop=["north", "south", None] * 20,
        empty=[None] * n,
    )
    assert others_of(path).columns == ["price", "shop"]
    many = {f"c{number}": ["p", "q"] * 30 for number in range(MOST_OTHERS + 5)}
    wide, looked_at = csv_of(tmp_path, text=LONG * 15, label=["x", "y"] * 30, **many), list[str]()
    fits = table._has_few_values_or_numbers

    def look_at(values: pl.Series) -> bool:
        looked_at.append(values.name)
        return fits(values)

    monkeypatch.setattr(table, "_has_few_values_or_numbers", look_at)
    assert others_of(wide).columns == looked_at == [*many][:MOST_OTHERS]  # no more: a table may have 100,000


def test_other_columns_of_every_type(tmp_path: Path) -> None:
    days = pl.date_range(pl.date(2026, 1, 1), pl.date(2026, 1, 4), eager=True)
    frame = pl.DataFrame(
        {
            "text": LONG,
            "label": ["x", "y", "x", "y"],
            "sold": [True, False, None, True],
            "day": days,
            "took": days - days[0],
            "tags": [["a"], ["b"], [], None],
            "place": [{"town": "a"}] * 4,
            "raw": [b"a"] * 4,
            "kind": pl.Series(["a", "b", "a", None], dtype=pl.Categorical),
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(UsageError, match="holds Duration"):
        read_table(tmp_path / "t.parquet", label="took")
    found = others_of(tmp_path / "t.parquet")
    assert found["sold"].to_list() == ["true", "false", None, "true"]
    assert found["day"].to_list()[0] == "2026-01-01"
    assert found["kind"].to_list() == ["a", "b", "a", None]
    assert not {"took", "tags", "place", "raw"} & set(found.columns)
    assert set(found.dtypes) == {pl.String}


def test_other_columns_of_json_lines_may_be_left_out(tmp_path: Path) -> None:
    rows = [{"text": "a", "label": "x", "shop": "north"}] * ROWS_PER_BATCH + [{"text": "b", "label": "y"}] * 3
    path = tmp_path / "t.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = others_of(path)["shop"]
    assert (len(found), found.null_count(), found[-4]) == (len(rows), 3, "north")


def test_a_table_that_changes_while_it_is_read(tmp_path: Path) -> None:
    columns = {"text": LONG, "label": ["x", "y", "x", "y"], "shop": ["a", "b", "a", "b"]}
    table = read_table(csv_of(tmp_path, **columns))
    path = csv_of(tmp_path, **{name: values[:3] for name, values in columns.items()})
    with pytest.raises(UsageError, match="changed while it was read; run the command again"):
        other_columns(path, table)


@pytest.mark.parametrize("cell", ["['good', 'new']", "['good' 'new']", "{'good', 'new'}", '["good", "new"]'])
def test_lists_as_programs_show_them_are_lists(cell: str, tmp_path: Path) -> None:
    path = csv_of(tmp_path, text=LONG, label=[cell] * 4)
    with pytest.raises(UsageError, match="holds lists such as"):
        read_table(path)
    assert read_table(path, multilabel="|").frame["label"].to_list() == [["good", "new"]] * 4


def test_lists_of_objects_are_no_labels(tmp_path: Path) -> None:
    path = csv_of(tmp_path, text=LONG, label=['[{"name": "good"}]'] * 4)
    for several in (None, "|"):
        with pytest.raises(UsageError, match=r"lists of what is no label.*Make a column of the labels alone"):
            read_table(path, multilabel=several)


def test_texts_that_are_lists_are_said(tmp_path: Path) -> None:
    table = read_table(csv_of(tmp_path, text=["['a', 'b']", "['c']", "['d']", "['e']"], label=[1, 1, 2, 2]))
    assert "the column 'text' holds lists such as ['a', 'b']; they are read as plain text" in table.notes
