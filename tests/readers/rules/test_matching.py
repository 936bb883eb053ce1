import time
import unicodedata

import pytest

from glassformer.data.inputs import Category, Inputs
from glassformer.explanation.words import TextInWords
from glassformer.readers.rules.matching import Matcher
from glassformer.readers.rules.parsing import parse_rules
from glassformer.readers.rules.saying import LabelSaying


def matcher(*patterns: str) -> Matcher:
    content, saying = "\n".join(f"{pattern} -> a" for pattern in patterns), LabelSaying(labels=("a",), several=False)
    return Matcher.of(parse_rules(content, saying, "rules.txt"))


def words_at(found: Matcher, text: str) -> dict[int, list[str]]:
    cut = TextInWords.cut(text)
    places = found.places(text, [(word.start, word.end) for word in cut.words], cut.of_counted.tolist())
    return {rule: [cut.words[place].text for place in sorted(each)] for rule, each in places.items()}


@pytest.mark.parametrize(
    ("phrase", "text", "matches"),
    [
        ("refund", "A REFUND, please", True),
        ("refund", "refunds and refunded", False),
        ("out of office", "I am Out  of\nOffice.", True),
        ("out of office", "out of the office", False),
        ("C++", "I write c++ daily", True),
        ("café", unicodedata.normalize("NFD", "the CAFÉ"), True),
        ("退款", "我要退款。", True),
        ("refund", "", False),
    ],
)
def test_a_phrase_matches_whole_words_in_capitals_or_not(phrase: str, text: str, matches: bool) -> None:
    assert matcher(f'"{phrase}"').matches([text]) == [[0] if matches else []]


def test_patterns_see_capitals_unless_told_otherwise_and_composed_letters() -> None:
    found = matcher(r"/\bINV-\d{6}\b/", "/inv/i", "/é$/")
    decomposed = unicodedata.normalize("NFD", "café")
    texts = ["see INV-123456", "inv-123456", "INV-1234567", decomposed]
    assert found.matches(texts) == [[0, 1], [1], [1], [2]]
    assert found.matches([]) == []


def test_it_says_in_which_words_a_rule_matches() -> None:
    found = matcher('"refund now"', r"/\d{2}-\d/", "/of+/", '"never"', "/ +/")
    text = "Refund now: 12-3 or 45-6 off. refund NOW"
    assert words_at(found, text) == {
        0: ["Refund", "now", "refund", "NOW"],
        1: ["12", "-", "3", "45", "-", "6"],
        2: ["off"],
        4: [],
    }
    decomposed = unicodedata.normalize("NFD", "ééé été 12-3")
    assert words_at(found, decomposed) == {1: ["12", "-", "3"], 4: []}


def test_of_a_row_of_several_inputs_each_text_and_value_is_read_by_itself() -> None:
    inputs = Inputs(texts=("question", "answer"), columns=(Category(name="shop", values=("Berlin", "Rome")),))
    text = inputs.compose({"question": "is it red", "answer": "yes it is", "shop": "Berlin"})
    found = matcher('"yes it is"', '"red yes"', '"shop=berlin"', "/^shop=Berlin$/", "/(?m)^yes/", "/(?m)^shop=Berlin$/")
    assert found.matches([text]) == [[0, 2, 4, 5]]
    assert words_at(found, text)[2] == ["shop=Berlin"]
    assert words_at(found, text)[5] == ["shop=Berlin"]
    assert words_at(found, text)[4] == ["yes"]


def test_hostile_patterns_and_texts_take_no_time() -> None:
    found = matcher("/(a+)+$/", "/(x+x+)+y/", "/(?:[01]*1[01]{2000})x/", *['"a a a a a a a b"'] * 500)
    began = time.perf_counter()
    found.matches(["a" * 200_000 + "b", "x" * 200_000, "01" * 100_000, "a " * 100_000])
    assert time.perf_counter() - began < 10
