from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.input_columns import FEWEST_ROWS, check_inputs, compose_frame, composer
from glassformer.data.inputs import Category, Inputs, Number
from glassformer.data.sources import SourceConfig, read_sources
from glassformer.data.splits import ValidationConfig
from glassformer.data.table import Table, read_table
from glassformer.errors import UsageError

ROWS = 60


def table_of(tmp_path: Path, **columns: Sequence[object]) -> Path:
    frame = pl.DataFrame(
        {
            "text": [f"a text about {number % 7}" for number in range(ROWS)],
            "reply": [f"a reply to {number % 5}" for number in range(ROWS)],
            "label": ["yes", "no"] * (ROWS // 2),
            **columns,
        }
    )
    path = tmp_path / "table.parquet"
    frame.write_parquet(path)
    return path


def read(path: Path, *columns: str, text: str | None = None, texts: tuple[str, ...] = ()) -> Table:
    config = SourceConfig(train=str(path), text=text, columns=columns, other_texts=texts)
    return read_sources(config, ValidationConfig(), None).train


def test_the_kind_of_a_column_is_found(tmp_path: Path) -> None:
    path = table_of(
        tmp_path,
        shop=["Berlin", "berlin", "Ulm", "Ulm", None, "Köln"] * 9
        + ["Berlin", "berlin", "Ulm", "Ulm", None, "Ko\u0308ln"],
        rare=["one", "two", *["often"] * (ROWS - 2)],
        stars=[1, 2, 3] * 20,
        price=[float(number) for number in range(ROWS)],
    )
    found = read(path, "shop", "rare", "stars", "price")
    assert found.inputs is not None
    shop, rare, stars, price = found.inputs.columns
    assert shop == Category(name="shop", values=("Ulm", "Berlin", "Köln"))
    assert rare == Category(name="rare", values=("often",)), f"the others are in fewer than {FEWEST_ROWS} rows"
    assert stars == Number(name="stars", edges=(2, 3))
    assert price == Number(name="price", edges=(6, 12, 18, 24, 30, 36, 42, 48, 54))
    assert "column 'shop': 3 categories, 10 rows have none" in found.notes
    assert "column 'rare': 1 category, 2 rows have a rarer one" in found.notes
    assert "column 'price': numbers, in 10 quantiles" in found.notes


def test_places_that_most_rows_have_for_themselves_are_a_category_if_a_few_repeat(tmp_path: Path) -> None:
    alone = [f"the village number {number}" for number in range(ROWS - 4)]
    inputs = read(table_of(tmp_path, place=["Berlin"] * 4 + alone), "place").inputs
    assert inputs is not None
    assert inputs.columns == (Category(name="place", values=("Berlin",)),)
    with pytest.raises(UsageError, match="a different value in nearly every row"):
        read(table_of(tmp_path, place=["Berlin"] * 2 + ["Ulm"] * 2 + alone), "place")


def test_frames_and_single_rows_are_composed_alike(tmp_path: Path) -> None:
    path = table_of(tmp_path, shop=["Berlin", "Ulm", None] * 20, price=[1.5, None, 3.0, 40.25, 5.0, 6.0] * 10)
    found = read(path, "shop", "price", text="text", texts=("reply",))
    assert found.inputs is not None
    rows = pl.read_parquet(path)
    alone = [found.inputs.compose(row) for row in rows.iter_rows(named=True)]
    assert found.frame["text"].to_list() == alone
    assert compose_frame(rows, found.inputs).to_list() == alone
    assert composer(rows, found.inputs, "t")(rows) == alone


def test_a_whole_number_is_spelled_alike_in_tables_and_rows(tmp_path: Path) -> None:
    found = read(table_of(tmp_path, version=["2.0", "2.1", "beta"] * 20), "version", text="text")
    assert found.inputs is not None
    (version,) = found.inputs.columns
    assert version.value_of("2.0") == version.value_of(2.0) == "2"
    frame = pl.DataFrame({"text": ["x"], "version": ["2.0"]})
    assert compose_frame(frame, found.inputs).to_list() == [found.inputs.compose({"text": "x", "version": "2.0"})]


def test_a_row_needs_one_of_its_texts(tmp_path: Path) -> None:
    path = table_of(tmp_path, first=["", "x"] * 30, second=[None, "y", "z"] * 20)
    found = read(path, text="first", texts=("second",))
    assert [len(dropped.rows) for dropped in found.dropped] == [10]
    assert found.frame.height == 50


@pytest.mark.parametrize("text", ["\x1c", " \x1f\n\x1d", "\u2028\xa0", "\u200b", "\x1ca"])
def test_a_text_is_blank_alike_in_tables_and_rows(tmp_path: Path, text: str) -> None:
    inputs = Inputs(texts=("first", "second"), columns=(Category(name="shop", values=("Ulm",)),))
    row = {"first": text, "second": " ", "shop": "Ulm"}
    composed = inputs.compose(row)
    assert (composed == "") == (not text.strip())
    assert compose_frame(pl.DataFrame([row]), inputs).to_list() == [composed]
    found = read_table(table_of(tmp_path, text=[text, "x"] * 30, label=["a", "b"] * 30), text="text", label="label")
    assert found.frame.height == (60 if text.strip() else 30)


def test_columns_are_found_whatever_their_case() -> None:
    inputs = Inputs(texts=("text",), columns=(Category(name="shop", values=("Ulm",)),))
    frame = pl.DataFrame({"Text": ["a"], "Shop ": ["ulm"]})
    assert composer(frame, inputs, "t")(frame) == [inputs.compose({"text": "a", "shop": "Ulm"})]


@pytest.mark.parametrize(
    ("columns", "asked", "words"),
    [
        ({}, ["pricy"], "has no column 'pricy' (`columns=`)"),
        ({"customer_id": list(range(ROWS))}, ["customer_id"], "holds ids, which say nothing about new rows"),
        ({"code": [f"A-{number:04}" for number in range(ROWS)]}, ["code"], "holds ids"),
        ({"day": [f"2024-01-{1 + number % 28:02}" for number in range(ROWS)]}, ["day"], "holds dates"),
        ({"site": [f"https://a.de/{number}" for number in range(ROWS)]}, ["site"], "holds links"),
        ({"email": [f"ann{number}@a.de" for number in range(ROWS)]}, ["email"], "holds e-mail addresses, which name"),
        ({"shop": ["ann@a.de", "bob@a.de"] * 30}, ["shop"], "say nothing about new rows; leave it out of `columns=`."),
        ({"story": [f"it was day {number} at sea" for number in range(ROWS)]}, ["story"], "name texts with `text=`"),
        ({"same": ["x"] * ROWS}, ["same"], "holds 'x' in every row"),
        ({"rest": ["other", None] * 30}, ["rest"], "holds no category but 'missing' or 'other'"),
        ({"void": [None] * ROWS}, ["void"], "is empty; leave it out"),
        ({"bag": [[1, 2]] * ROWS}, ["bag"], "a text, a number or a category is needed"),
        ({"shop": ["a", "b"] * 30}, ["shop", "shop"], "`columns=` names the column 'shop' twice"),
    ],
)  # fmt: skip
def test_a_column_that_says_nothing_is_refused(
    tmp_path: Path, columns: dict[str, list[object]], asked: list[str], words: str
) -> None:
    path = table_of(tmp_path, **columns)
    with pytest.raises(UsageError) as error:
        read(path, *asked, text="text")
    assert words in error.value.message


@pytest.mark.parametrize(
    ("texts", "columns", "others", "words"),
    [
        (["text"], ["text"], {}, "cannot be both `text=` and `columns=`"),
        (["text", "text"], [], {}, "`text=` names the column 'text' twice"),
        ([None], ["label"], {"label": "label"}, "cannot be both `columns=` and `label=`"),
        ([None, "who"], [], {"label": None, "group": "who"}, "cannot be both `text=` and `group=`"),
        ([None], ["a\ufdd1"], {}, "has a character that is reserved; rename it"),
    ],
)
def test_a_column_is_one_thing(
    texts: list[str | None], columns: list[str], others: dict[str, str | None], words: str
) -> None:
    with pytest.raises(UsageError) as error:
        check_inputs(texts, columns, **others)
    assert words in error.value.message


def test_a_table_of_rows_to_answer_needs_every_input() -> None:
    inputs = Inputs(texts=("text",), columns=(Category(name="shop", values=("Ulm",)),))
    with pytest.raises(
        UsageError, match=r"t\.csv has no column 'shop'; this model reads the text 'text' and the column"
    ):
        composer(pl.DataFrame({"text": ["a"]}), inputs, "t.csv")
