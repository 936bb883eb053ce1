from dataclasses import replace

import pytest

from glassformer.data.spellings import fold_labels, label_key, spellings, stand_ins, table_spellings
from tests.data.samples import table_of


@pytest.mark.parametrize(
    "way",
    ["billing", "BILLING", " Billing\t", "Bil\u200bling", "\ufeffbilling", "Ｂilling", "BİLLİNG".replace("İ", "I")],
)
def test_spellings_of_one_label_have_one_key(way: str) -> None:
    assert label_key(way) == label_key("Billing")


def test_case_is_ignored_where_a_capital_is_two_letters() -> None:
    assert label_key("STRASSE") == label_key("Straße")


@pytest.mark.parametrize(("one", "other"), [("bug", "bugs"), ("bug report", "bug-report"), ("a b", "ab"), ("é", "e")])
def test_other_labels_have_other_keys(one: str, other: str) -> None:
    assert label_key(one) != label_key(other)


@pytest.mark.parametrize("levels", [" > ", ">", " ", "\t"])
def test_white_space_around_a_separator_makes_no_other_label(levels: str) -> None:
    usual, tight = f"Food{levels}Bread", f"Food{levels.strip() or levels}Bread"
    assert label_key(usual, levels) == label_key(tight, levels) != label_key("FoodBread", levels)
    assert label_key("Food   Bread", " ") == label_key("Food Bread", " ")


def test_white_space_around_a_level_and_empty_levels_make_no_other_label() -> None:
    labels = ["Food > Bread", "food>bread", "Food > > Bread", "> Food", "Food", ">", "> >"]
    keys = [label_key(label, ">") for label in labels]
    assert (len(set(keys[:3])), len(set(keys[3:5])), len(set(keys))) == (1, 1, 4)
    assert label_key(labels[0]) != label_key(labels[1])
    table = replace(table_of(labels), levels=">")
    assert "'Food > > Bread' (1) = 'Food > Bread' (1) = 'food>bread' (1)" in str(table_spellings(table))
    assert fold_labels(table).frame["label"].n_unique() == 4
    assert fold_labels(table, ["Food>Bread"]).frame["label"].to_list()[:3] == ["Food>Bread"] * 3


def test_the_most_frequent_spelling_is_the_name() -> None:
    labels = ["billing", "Billing", "Billing", "BUG", "bug", "other"]
    assert [spelling.ways for spelling in spellings(labels)] == [
        (("Billing", 2), ("billing", 1)),
        (("BUG", 1), ("bug", 1)),
    ]
    assert table_spellings(table_of(labels)) == (
        "some labels differ only by case or white space; `fold_labels=True` joins them. "
        "5 labels would be 3: 'Billing' (2) = 'billing' (1); 'BUG' (1) = 'bug' (1)"
    )
    folded = fold_labels(table_of(labels))
    assert folded.frame["label"].to_list() == ["Billing", "Billing", "Billing", "BUG", "BUG", "other"]
    assert folded.notes == ("2 labels read in another spelling: 'billing' as 'Billing', 'bug' as 'BUG'",)
    assert table_spellings(folded) is None


def test_five_labels_with_several_spellings_are_shown_and_the_rest_counted() -> None:
    said = table_spellings(table_of([*"abcdefg", *"ABCDEFG", "h"]))
    assert said is not None
    assert said.startswith(
        "some labels differ only by case or white space; `fold_labels=True` joins them. 15 labels would be 8: 'A'"
    )
    assert said.endswith("; 'E' (1) = 'e' (1) and 2 more")


def test_several_labels_are_folded_within_a_cell() -> None:
    table = table_of([["Bug", "bug", "x"], ["bug"], ["bug"], []])
    assert fold_labels(table).frame["label"].to_list() == [["bug", "x"], ["bug"], ["bug"], []]


def test_labels_are_folded_to_given_names() -> None:
    table = table_of(["BILLING", "Billing", "bug", "new", "Twice"])
    folded = fold_labels(table, ["billing", "bug", "TWICE", "twice"])
    assert folded.frame["label"].to_list() == ["billing", "billing", "bug", "new", "Twice"]


def test_a_table_without_spellings_is_left_as_it_is() -> None:
    table = table_of(["a", "b"])
    assert fold_labels(table) is table
    assert fold_labels(table, ["a", "b"]) is table


def test_values_that_stand_for_none_are_counted() -> None:
    table = table_of(["n/a", "n/a", "ok", "NULL", "none of these"], ["good", "-", "None", "nan", "naan bread"])
    rest = f"empty these cells in {table.source}: such rows are left out"
    assert sorted(stand_ins(table)) == [
        f"1 row has the label 'NULL'. If it means that there is no label, {rest}",
        f"1 row has the text '-'. If it means that there is no text, {rest}",
        f"1 row has the text 'None'. If it means that there is no text, {rest}",
        f"1 row has the text 'nan'. If it means that there is no text, {rest}",
        f"2 rows have the label 'n/a'. If it means that there is no label, {rest}",
    ]
