from collections import Counter

import numpy as np
import pytest

from glassformer.evaluation.robustness import negated, with_typos, without_punctuation

HINDI = "समझ"  # three letters without signs
WITHOUT_CASE = [
    "这家店很好吃",
    "この店はおいしい",
    "الطعام لذيذ",
    "האוכל טעים",
    "อาหารอร่อย",
    "खाना अच्छा है",
    "음식이 맛있다",
]


def typed(text: str, seed: int = 0, share: float = 1.0) -> str:
    return with_typos(text, share, np.random.default_rng(seed))


@pytest.mark.parametrize("word", ["abc", "хлеб", "ψωμί", "việt", HINDI])
def test_a_typo_swaps_loses_or_doubles_a_letter(word: str) -> None:
    found = {typed(word, seed) for seed in range(200)}
    places = range(len(word) - 1)
    swapped = {word[:i] + word[i + 1] + word[i] + word[i + 2 :] for i in places}
    lost = {word[:i] + word[i + 1 :] for i in places}
    doubled = {word[:i] + word[i] + word[i:] for i in places}
    assert found == swapped | lost | doubled


def test_a_letter_keeps_its_marks() -> None:
    decomposed = "vie\u0323\u0302t"  # việt
    assert typed(decomposed, 0) != decomposed
    for seed in range(40):
        marks = typed(decomposed, seed).split("e")[1:]
        assert all(after.startswith("\u0323\u0302") for after in marks)


def test_short_words_numbers_and_links_have_no_typos() -> None:
    text = "it is 2024, ok: 1,234 a_b at https://example.com/abc"
    assert typed(text) == text
    assert typed("amber basil", share=0.0) == "amber basil"


def test_the_share_of_words_with_a_typo() -> None:
    words = ["amber", "basil", "cedar", "delta", "ember", "flint", "grove", "heron"] * 250
    changed = typed(" ".join(words), share=0.05).split()
    assert 60 < sum(a != b for a, b in zip(words, changed, strict=True)) < 140
    assert typed(" ".join(words), 3, 0.05) == typed(" ".join(words), 3, 0.05)


@pytest.mark.parametrize("text", WITHOUT_CASE)
def test_scripts_without_case_stay_as_they_are(text: str) -> None:
    assert text.upper() == text.lower() == text
    assert negated(text) == text
    assert without_punctuation(text) == text


@pytest.mark.parametrize(("text", "without"), [
    ("Good, cheap; and fast!", "Good cheap and fast"),
    ("(it's) “well-known” ... 3.14, at 10:30.", "it's well-known 3.14 at 10:30"),
    ("slow - but fine", "slow but fine"),
    ("wait...what—really", "wait what really"),
    ("nice :) thanks ;-) bad :(", "nice :) thanks ;-) bad :("),
    ("great!!! :D see https://t.co/a.b?c, ok.", "great :D see https://t.co/a.b?c, ok"),
    ("#fire @you 50% & $5", "#fire @you 50% & $5"),
    ("好吃，便宜。", "好吃 便宜"),
    ("खाना अच्छा है।", "खाना अच्छा है"),
    ("¿qué? «да», нет", "qué да нет"),
    ("الطعام، لذيذ؟", "الطعام لذيذ"),
    ("two  spaces stay", "two  spaces stay"),
    ("?!", ""),
])  # fmt: skip
def test_punctuation_of_any_script_is_dropped(text: str, without: str) -> None:
    assert without_punctuation(text) == without


@pytest.mark.parametrize(("text", "turned"), [
    ("the plot is thin", "the plot is not thin"),
    ("the plot is not thin, it is fine", "the plot is thin, it is fine"),
    ("The actors weren't bad", "The actors were bad"),
    ("i don’t like it", "i do like it"),
    ("they do n't care and it is fine", "they do care and it is fine"),
    ("You can't miss it", "You can miss it"),
    ("Can't recommend it", "Can recommend it"),
    ("I WON'T BUY IT", "I WILL BUY IT"),
    ("they cannot cook", "they can cook"),
    ("it's good", "it's not good"),
    ("It's not good", "It's good"),
    ("THIS IS GOOD", "THIS IS NOT GOOD"),
    ("I'm happy with the food", "I'm not happy with the food"),
    ("the food is good and not bad", "the food is not good and not bad"),
])  # fmt: skip
def test_a_negation_is_added_or_removed(text: str, turned: str) -> None:
    assert negated(text) == turned


@pytest.mark.parametrize("text", [
    "is it good", "what is the capital", "how are you", "why is the sky blue",  # questions
    "the food is not only good", "it is never good", "this",
    "de film is goed", "das war gut", "was ist das", "le film est bon", "phim này hay",  # other languages
])  # fmt: skip
def test_what_cannot_be_negated_stays(text: str) -> None:
    assert negated(text) == text


def test_one_negation_is_turned_alone() -> None:
    text = "it is good. it is cheap. it is not far."
    assert Counter(negated(text).split())["not"] == 2
