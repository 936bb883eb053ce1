import math
from itertools import permutations

import pytest
from pydantic import ValidationError

from glassformer.data.in_memory_rows import learned_rows
from glassformer.data.inputs import (
    BEGIN,
    SEPARATOR,
    Category,
    Inputs,
    Number,
    as_number,
    fields,
    shown,
    texts_alone,
    values_of,
    with_texts_changed,
)
from glassformer.errors import InputError

SHOP = Category(name="shop", values=("Berlin", "New York"))
PRICE = Number(name="price", edges=(3.0, 5.5))
BOTH = Inputs(texts=("question", "answer"), columns=(SHOP, PRICE))
ROW = {"question": "is it red", "answer": "yes", "shop": "Berlin", "price": 4}


def test_a_row_is_one_string_and_is_read_back() -> None:
    composed = BOTH.compose(ROW)
    assert BOTH.parts(composed) == ({"question": "is it red", "answer": "yes"}, {"shop": "Berlin", "price": "3 to 5.5"})
    assert values_of(composed) == ["shop=Berlin", "price=3 to 5.5"]
    assert shown(composed) == "is it red | yes [shop=Berlin, price=3 to 5.5]"
    assert texts_alone(composed) == "is it red yes"
    cut = [composed[start:end] for start, end in fields(composed)]
    assert cut[2:] == ["is it red", "yes"]
    assert all(each.startswith(BEGIN) for each in cut[:2])
    assert shown("any other text") == texts_alone("any other text") == "any other text"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("Berlin", "Berlin"), (" berlin ", "Berlin"), ("NEW  york", "New York"), ("Bonn", "other"), ("Other", "other"),
        ("", "missing"), (None, "missing"), (math.nan, "missing"), ("missing", "missing"), (f"Ber{BEGIN}lin", "Berlin"),
    ],
)  # fmt: skip
def test_a_category_is_known_other_or_missing(given: object, read: str) -> None:
    assert SHOP.value_of(given) == read


def test_a_category_is_one_in_both_forms_of_unicode() -> None:
    for learned, given in permutations(("Köln", "Ko\u0308ln")):
        assert Category(name="shop", values=(learned,)).value_of(given) == learned
    both = Category(name="shop", values=("Köln", "Ko\u0308ln"))  # as earlier versions learned them
    assert {both.value_of(given) for given in both.values} == {"Köln"}


@pytest.mark.parametrize(
    ("raw", "field", "words"),
    [
        ({"columns": [{"kind": "number", "name": "a", "edges": [3, 2]}]}, "columns.0.number.edges", "2 follows 3"),
        ({"columns": [{"kind": "number", "name": "a", "edges": [2, 2]}]}, "columns.0.number.edges", "2 follows 2"),
        ({"columns": [{"kind": "number", "name": "a", "edges": []}]}, "columns.0.number.edges", "at least 1"),
        ({"columns": [{"kind": "category", "name": "a", "values": ["x", "X"]}]}, "columns.0.category.values", "twice"),
        ({"columns": [{"kind": "category", "name": "a", "values": ["other"]}]}, "columns.0.category.values", "twice"),
        ({"columns": [{"kind": "category", "name": "a", "values": ["x "]}]}, "columns.0.category.values", "'x '"),
        ({"columns": [{"kind": "date", "name": "a"}]}, "columns.0", "'date'"),
        ({"columns": [{"kind": "category", "name": "", "values": ["x"]}]}, "", "'' is not the name of a column"),
        ({"columns": [{"kind": "category", "name": f"a{BEGIN}", "values": ["x"]}]}, "", "is not the name of a column"),
        ({"columns": [{"kind": "category", "name": "first", "values": ["x"]}]}, "", "the column 'first' occurs twice"),
        ({"texts": []}, "texts", "at least 1"),
    ],
)
def test_damaged_inputs_are_refused_by_field(raw: dict[str, object], field: str, words: str) -> None:
    with pytest.raises(ValidationError) as error:
        Inputs.model_validate({"texts": ["first"]} | raw)
    [found] = error.value.errors()
    assert ".".join(map(str, found["loc"])) == field
    assert words in found["msg"]


def test_a_category_may_be_a_number_or_a_truth_value() -> None:
    size = Category(name="size", values=("42", "True"))
    assert [size.value_of(each) for each in (42, 42.0, "42", "42.0", True, "true", 41)] == [
        "42",
        "42",
        "42",
        "42",
        "True",
        "True",
        "other",
    ]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (2.99, "below 3"), ("3", "3 to 5.5"), (5.49, "3 to 5.5"), ("5,5", "5.5 or more"), ("1,200", "5.5 or more"),
        (-1e9, "below 3"), (None, "missing"), ("cheap", "missing"), ("", "missing"), (True, "missing"),
    ],
)  # fmt: skip
def test_a_number_is_read_by_its_quantile(given: object, read: str) -> None:
    assert PRICE.value_of(given) == read


def test_edges_that_are_close_are_told_apart() -> None:
    close = Number(name="n", edges=(1000.125, 1000.25))
    assert close.all_values == ("missing", "below 1000.1", "1000.1 to 1000.2", "1000.2 or more")


@pytest.mark.parametrize(
    ("spelled", "number"),
    [
        ("12", 12), ("-3.5", -3.5), ("1,234,567.5", 1234567.5), ("1.234.567,5", 1234567.5), ("1 200", 1200),
        ("1'200", 1200), ("3,5", 3.5), ("12 %", 12), ("1e3", 1000), ("inf", None), ("3 apples", None), ("1,2,3", None),
        ("0,125", 0.125), ("-0,500", -0.5), ("1,234.567", 1234.567), ("1.234,567", 1234.567), ("12,345", 12345),
        ("１,２００", 1200), ("٣.٥", 3.5),
    ],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them(spelled: str, number: float | None) -> None:
    assert as_number(spelled) == number


def test_each_value_has_a_token_and_the_separator_is_the_last() -> None:
    assert len(BOTH.tokens) == 4 + 4 + 1
    assert BOTH.tokens[-1] == SEPARATOR
    assert set(BOTH.compose(ROW).split("is it red")[0]) <= set("".join(BOTH.tokens))
    assert SEPARATOR not in Inputs(texts=("text",), columns=(SHOP,)).tokens


def test_a_row_without_a_text_is_an_empty_text() -> None:
    assert BOTH.compose(ROW | {"question": " ", "answer": None}) == ""
    assert shown(BOTH.compose(ROW | {"question": None})) == " | yes [shop=Berlin, price=3 to 5.5]"


def test_reserved_characters_are_removed_from_texts() -> None:
    composed = BOTH.compose(ROW | {"question": f"is {BEGIN}it{SEPARATOR} red"})
    assert composed == BOTH.compose(ROW)


def test_texts_are_changed_one_by_one_and_columns_are_not() -> None:
    changed = with_texts_changed(BOTH.compose(ROW), str.upper)
    assert shown(changed) == "IS IT RED | YES [shop=Berlin, price=3 to 5.5]"
    assert with_texts_changed("plain", str.upper) == "PLAIN"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"question": "x"}, "the row has no 'answer'; this model reads the texts 'question' and 'answer' and the "),
        (ROW | {"answer": 3}, "the text 'answer' is 3, not a string"),
        (ROW | {"answer": "a \ud800"}, "the text 'answer' holds half of a surrogate pair"),
        (ROW | {"shop": "a \ud800"}, "the value of 'shop' holds half of a surrogate pair"),
        (ROW | {"shop": ["Berlin"]}, "the value of 'shop' is ['Berlin'], not a number or a word"),
        ("text", 'give a row: {"question": "…", "answer": "…", "shop": "…", "price": 3.0}'),
    ],
)
def test_a_row_that_cannot_be_read_is_refused(row: object, words: str) -> None:
    with pytest.raises(InputError) as error:
        BOTH.compose(row)
    assert words in error.value.message


@pytest.mark.parametrize("digits", [309, 5_000])
@pytest.mark.parametrize("column", ["price", "shop"])
def test_whole_numbers_that_no_float_holds_are_refused(column: str, digits: int) -> None:
    """Python does not write those of more than 4,300 digits."""
    with pytest.raises(InputError, match=rf"the value of '{column}' is .*, too large for a number"):
        BOTH.compose({**ROW, column: 10**digits})
    with pytest.raises(InputError, match=r"a value is .*, too large for a number"):
        learned_rows([{"text": "a", "n": 10**digits}], "text", "n")


def test_a_line_of_json_is_a_row() -> None:
    assert BOTH.read('{"question": "a", "price": 3}') == {"question": "a", "price": 3}
    assert BOTH.read(" ") == {}
    with pytest.raises(InputError, match=r"the row is not JSON: .* before '3}' \(character 19\)"):
        BOTH.read('{"question": "a", 3}')
    for line in ("[1]", "hello", "1"):
        with pytest.raises(InputError, match="give a row as JSON"):
            BOTH.read(line)
