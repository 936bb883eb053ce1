import polars as pl

from benchmarks.new_words_lm import MOST_TEST_SENTENCES, HiddenInSentences, hide_in_sentences
from glassformer.training.recipe import load_pretraining_recipe
from tests.words.samples import Definitions

WINDOW = 8
CITIES = ("rome", "oslo", "riga", "lima", "c4")
DEFINED = Definitions(dict.fromkeys(("rome", "oslo", "riga", "c4", "the", "city"), "a place"))
TRAIN = [
    *(f"the city {word} is old" for word in CITIES for _ in range(2)),
    *["the city is old", "The old, far city of ROME is here"] * 2,
    *["it was far and here, as all of it was"] * 6,
]
TEST = [
    *(f"the city rome is {word}" for word in "abcdefghijkl"),
    *(f"the city oslo is {word}" for word in "abcde"),
    "rome is far of oslo is",
    "here is rome and rome is here",
    "the old city is rome",
    "oslo is old and far and here and the city is old",
    *(f"the riga is {word}" for word in "abcd"),
    *(f"the lima is {word}" for word in "abcde"),
    *(f"the c4 is {word}" for word in "abcde"),
]


def hidden(count: int) -> HiddenInSentences:
    recipe = load_pretraining_recipe(
        preset="tiny",
        overrides={"tokenizer.kind": "word", "tokenizer.lowercase": True, "model.max_seq_len": WINDOW},
    )
    return hide_in_sentences(pl.Series(TRAIN), pl.Series(TEST), recipe, DEFINED, count)


def test_words_that_are_rare_defined_and_tested_are_hidden() -> None:
    """`riga` is in four test sentences, `lima` is not defined, `c4` is no word of letters, and `the` is frequent."""
    assert hidden(9).words == ["oslo", "rome"]
    assert hidden(1).words in (["oslo"], ["rome"])


def test_no_training_sentence_holds_a_hidden_word() -> None:
    kept = hidden(9).training.texts.to_list()
    assert kept == [text for text in TRAIN if "oslo" not in text and "rome" not in text.lower()]
    assert len(kept) == len(TRAIN) - 6


def test_test_sentences_go_on_after_their_one_hidden_word() -> None:
    """Not those that end on it, that hold two, or that do not fit into the window; and no more than ten of a word."""
    found = hidden(9).test
    assert found.keys() == {"oslo", "rome"}
    assert found["oslo"] == [f"the city oslo is {word}" for word in "abcde"]
    assert len(found["rome"]) == MOST_TEST_SENTENCES == 10
    assert set(found["rome"]) < {f"the city rome is {word}" for word in "abcdefghijkl"}


def test_elsewhere_no_hidden_word_is() -> None:
    assert hidden(9).elsewhere == [text for text in TEST if text.split()[1] in ("riga", "lima", "c4")]
