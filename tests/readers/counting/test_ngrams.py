from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from glassformer.data.inputs import SEPARATOR, mark
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.readers.counting.ngrams import NGRAMS, field_of, pieces_of, runs_of, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Not BAD, at all!", ["not", "bad", ",", "at", "all", "!"]),
        ("don't", ["don't"]),
        ("Ｆｕｌｌ-width", ["full", "-", "width"]),
        ("不好看", ["不", "好", "看"]),
        ("không tệ", ["không", "tệ"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("𝐆𝐎𝐎𝐃 5㎒ ™", ["good", "5mhz", "tm"]),
        ("  \n ", []),
        ("x" * 300, ["x" * 100]),
    ],
)
def test_words_of_any_script(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@given(st.text(st.sampled_from("aB 9'’.ﬁＦ𝐆㎒½ﷺ好กİéñ\u0301\u200b\x1f😀ÅŉẞⅧªحगा"), max_size=20))
def test_words_are_those_of_the_tokenizer(text: str) -> None:
    tokenizer = TextTokenizer.train([text], TokenizerConfig(min_frequency=1))
    spelled = {number: word for word, number in tokenizer.vocabulary().items()}
    assert [spelled[number] for number in tokenizer.encode([text])[0].tolist()] == words_of(text)


@given(st.text(st.characters(max_codepoint=127), max_size=30))
@example("".join(map(chr, range(128))))
@example("don't " + "a'b" * 50)
def test_ascii_words_are_those_of_other_texts(text: str) -> None:
    assert words_of(text) == words_of(f"{text} ä")[:-1]


@given(st.text(st.sampled_from("aΣ 9'é\u0301\u00a8½ſ好\n\u3000"), max_size=12))
def test_words_do_not_depend_on_those_beyond_a_space(text: str) -> None:
    assert words_of(f"{text} é {text}") == [*words_of(f"{text} é"), *words_of(text)]
    assert words_of(f"{text} {'é' * 101}")[:-1] == words_of(text)  # a long word is not remembered


def test_runs_of_one_to_three_words_are_counted() -> None:
    assert Counter(runs_of(["a", "b", "a", "b"])) == {
        "a": 2, "b": 2, "a b": 2, "b a": 1, "a b a": 1, "b a b": 1,
        "<start> a": 1, "<start> a b": 1, "b <end>": 1, "a b <end>": 1,
    }  # fmt: skip
    assert "<start>" not in runs_of(words_of("<start> <end>"))


def test_pieces_of_two_to_five_characters_stay_within_a_word() -> None:
    assert Counter(NGRAMS["characters"](["ab", "ab", "c"])) == {
        " a": 2, "ab": 2, "b ": 2, " ab": 2, "ab ": 2, " ab ": 2, " c": 1, "c ": 1, " c ": 1,
    }  # fmt: skip


def test_a_text_without_words_has_no_ngrams() -> None:
    assert [list(ngrams(words_of(" "))) for ngrams in NGRAMS.values()] == [[], []]


def test_each_text_of_a_row_has_ngrams_of_its_own_and_columns_have_none() -> None:
    row = mark("shop", "New York") + SEPARATOR.join(["Red shoes", "red"])
    value, of_second = mark("shop", "New York"), f"{SEPARATOR}red"
    words = words_of(row)
    assert words == [value, "red", "shoes", of_second]
    assert list(map(field_of, words)) == [-1, 0, 0, 1]
    runs = list(runs_of(words))
    assert runs[:4] == words
    assert runs[4:] == [
        "<start> red", "red shoes", "shoes <end>", f"<start> {of_second}", f"{of_second} <end>", "<start> red shoes",
        "red shoes <end>", f"<start> {of_second} <end>",
    ]  # fmt: skip
    assert pieces_of(value) == ()
    assert pieces_of(of_second) == tuple(SEPARATOR + piece for piece in pieces_of("red"))
