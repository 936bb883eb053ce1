from glassformer.explanation.number import NumberExplanation, WordEffect, effect_text
from glassformer.explanation.number_page import render_number_explanation
from glassformer.explanation.number_reasons import number_reasons_table
from glassformer.explanation.words import Word

FLAT = NumberExplanation(
    text="1,5 flat",
    value=556_131.4,
    distance=42_042.6,
    words=tuple(
        WordEffect(word=Word(text=word, start=start, end=end), readers={"counting": effect}, total=effect)
        for word, start, end, effect in (("1,5", 0, 3, 37_326.8), ("flat", 4, 8, -1_040.5))
    ),
    unlike_training=False,
)


def test_large_numbers_keep_their_digits() -> None:
    page = render_number_explanation(FLAT, "price")
    assert "price: 556,131, ± 42,043 for 90% of texts" in page
    assert "+37,327" in page
    assert "e+" not in page
    assert [effect_text(value) for value in (-1_040.5, 999.4, 0.0123456)] == ["−1,040", "+999", "+0.0123"]


def test_commas_in_a_cell_stand_between_words_only() -> None:
    (row,) = number_reasons_table([FLAT]).to_dicts()
    assert (row["words_raising"], row["words_lowering"]) == ("'1,5' +37327", "flat −1040")


def test_equal_words_of_two_texts_stay_apart_and_values_keep_their_case() -> None:
    words = (("shop=Ulm", "shop", 1.0), ("Dog", "a", 0.5), ("dog", "a", 0.25), ("dog", "b", -0.125))
    effects = [
        WordEffect(word=Word(text=word, start=at, end=at + 1), readers={"counting": effect}, total=effect, input=where)
        for at, (word, where, effect) in enumerate(words)
    ]
    found = NumberExplanation(text="abcd", value=3.0, distance=None, words=tuple(effects), unlike_training=None)
    assert [(name, len(group)) for name, group in found.strongest(8)] == [
        ("shop=Ulm", 1),
        ("dog (a)", 2),
        ("dog (b)", 1),
    ]
    page = render_number_explanation(found, "price")
    assert "dog (a)" in page
    assert "dog (b)" in page
    (row,) = number_reasons_table([found]).to_dicts()
    assert (row["words_raising"], row["words_lowering"]) == ("shop=Ulm +1, dog (a) +0.75", "dog (b) −0.125")
