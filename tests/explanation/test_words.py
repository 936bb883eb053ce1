import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.explanation.words import NO_WORD, TextInWords
from glassformer.readers.counting.ngrams import words_of


def test_words_keep_their_places_in_the_text() -> None:
    text = "The ﬁlm — İstanbul's ½ 好"
    words = TextInWords.cut(text).words
    assert [word.text for word in words] == ["The", "ﬁlm", "—", "İstanbul's", "½", "好"]
    assert all(text[word.start : word.end] == word.text for word in words)


@pytest.mark.parametrize(
    "word", ["e\u0301te\u0301", "\u1112\u1161\u11ab", "\uff8a\uff9e"], ids=["accents", "jamo", "half width"]
)
def test_the_last_letter_of_a_word_keeps_the_marks_that_it_is_composed_of(word: str) -> None:
    cut = TextInWords.cut(f"a {word} b")
    assert [each.text for each in cut.words] == ["a", word, "b"]
    assert cut.without([1]) == "a  b"


def test_a_character_that_stands_for_several_words_is_one() -> None:
    cut = TextInWords.cut("½ or ﷺ")
    assert cut.of_counted.tolist() == [0, 0, 0, 1, 2, 2, 2, 2]  # 1 ⁄ 2, or, four Arabic words
    cut = TextInWords.cut("about 1½kg, bad")
    assert [word.text for word in cut.words] == ["about", "1½kg", ",", "bad"]
    assert cut.of_counted.tolist() == [0, 1, 1, 1, 2, 3]  # 11 ⁄ 2kg
    assert cut.without([1]) == "about , bad"


@given(
    st.text(st.sampled_from("aB 9'’.ﬁＦ𝐆㎒½ﷺ好กİΣéñ\u0301\u200b\x1f😀Å\u1112\u1161\u11ab<\u0338ŉẞⅧªحगा"), max_size=30)
)
def test_every_counted_word_has_a_place(text: str) -> None:
    cut = TextInWords.cut(text)
    assert len(cut.of_counted) == len(words_of(text))
    assert sorted(set(cut.of_counted.tolist())) == list(range(len(cut.words)))
    ends = [0, *(word.end for word in cut.words)]
    assert all(end <= word.start < word.end for end, word in zip(ends[:-1], cut.words, strict=True))


def test_deleted_words_leave_what_stands_around_them() -> None:
    cut = TextInWords.cut(" not at all, bad ")
    assert cut.without([1, 3]) == " not  all bad "
    assert cut.without([]) == cut.text


@pytest.mark.parametrize(
    ("span", "word"), [((0, 3), 0), ((0, 4), 0), ((2, 8), 1), ((3, 4), NO_WORD), ((0, 0), NO_WORD), ((8, 9), 2)]
)
def test_a_token_belongs_to_the_word_that_it_overlaps_most(span: tuple[int, int], word: int) -> None:
    assert TextInWords.cut("the film!").of_tokens([span]).tolist() == [word]
