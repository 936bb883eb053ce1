import polars as pl
import pytest

from benchmarks.hidden_words import choose_words, cut_out, drawn, hide
from benchmarks.models import apart_from
from glassformer.data.table import Table
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig

KNOWN = "a bad film good it is nothing so superb the was"


def table(*texts: str) -> Table:
    labels = ["good" if number % 2 else "bad" for number in range(len(texts))]
    frame = pl.DataFrame({"row": range(1, len(texts) + 1), "text": texts, "label": labels})
    return Table(frame=frame, source="reviews.csv", text_column="text", label_column="label")


@pytest.fixture
def tokenizer() -> TextTokenizer:
    return TextTokenizer.train([KNOWN], TokenizerConfig(min_frequency=1))


def test_words_are_cut_out_of_texts_and_rows_of_nothing_else_are_gone(tokenizer: TextTokenizer) -> None:
    """Whatever their case, wherever they stand, and nothing of longer words."""
    words = ["superb", "film", "bad"]
    texts = table("it is bad, so bad", "The Film was SUPERB!", " superb film ", "superbly filmed", "a good one", "Bad.")
    without, first = cut_out(words, texts, tokenizer)
    assert without.frame["text"].to_list() == ["it is , so ", "The  was !", "superbly filmed", "a good one", "."]
    assert without.frame["row"].to_list() == [1, 2, 4, 5, 6]
    assert without.frame["label"].to_list() == ["bad", "good", "good", "bad", "good"]
    assert {row: words[number] for row, number in first.items()} == {0: "bad", 1: "film", 2: "superb", 5: "bad"}


def test_texts_belong_to_the_first_hidden_word_in_them(tokenizer: TextTokenizer) -> None:
    train, test = table("a bad film", "it was good", "superb", "so bad"), table("good film, bad film", "it", "so bad")
    hidden = hide(["film", "bad", "superb"], train, test, tokenizer)
    assert hidden.without.frame["text"].to_list() == ["a  ", "it was good", "so "]
    assert hidden.training.frame["text"].to_list() == ["a bad film", "superb", "so bad"]
    assert hidden.test.frame["text"].to_list() == ["good film, bad film", "so bad"]
    assert hidden.first == [0, 1]
    assert hidden.test_texts == 2


def test_drawn_texts_keep_their_words(tokenizer: TextTokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.hidden_words.MOST_TEXTS", 2)
    texts = table("good film, bad film", "it", "so bad", "a superb one", "nothing bad", "superb film")
    firsts = {"good film, bad film": 0, "so bad": 1, "a superb one": 2, "nothing bad": 1, "superb film": 2}
    hidden = hide(["film", "bad", "superb"], texts, texts, tokenizer)
    assert hidden.test_texts == 5
    assert hidden.first == [firsts[text] for text in hidden.test.frame["text"]]
    assert len(hidden.first) == hidden.training.frame.height == 2
    assert hidden.first != [0, 1], "not simply the first two"


def test_of_many_texts_some_are_drawn() -> None:
    rows = list(range(3, 900, 3))
    assert drawn(rows, 299) == rows
    few = drawn(rows, 50)
    assert len(set(few)) == 50
    assert few == sorted(few) == drawn(rows, 50)
    assert set(few) < set(rows)
    assert 300 < sum(few) / 50 < 600


def test_a_training_text_that_is_a_test_text_is_left_out() -> None:
    train, test = table("good film", " bad film\n", "caf\u00e9", "so so"), table("bad film", "cafe\u0301", "another")
    assert apart_from(test, train).frame["row"].to_list() == [1, 4]


def test_the_most_telling_words_bear_on_the_label() -> None:
    """Of words in ten and more training texts: `grim` and `glad` have texts of one label alone, `film` of both."""

    class Defined:
        name = "a test"

        def define(self, word: str) -> str | None:
            return None if word == "odd" else f"what {word} means"

    train = table(
        *(f"odd {'glad' if number % 2 else 'grim'} film {'the' if number < 18 else ''}" for number in range(40))
    )
    test = table("film odd grim", "glad and new", "rare")
    tokenizer = TextTokenizer.train([*train.frame["text"], "new", "rare"], TokenizerConfig(min_frequency=1))
    chosen = choose_words(train, test, tokenizer, Defined(), 2)
    assert chosen == {"bearing": ["glad", "grim"], "random": ["film"]}
