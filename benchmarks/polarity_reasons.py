"""The true reasons of the sentences of `polarity`, as their grammar gives them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from glassformer.data.polarity import ADVERBS, ASIDES, DEGREES, FAVOURABLE, SUBJECTS, TEMPLATES, UNFAVOURABLE

Span = tuple[int, int]

_DENIAL = re.compile(r"\b(?:nobody|not|hardly|anything but|far from|neither|nor)\b")


def reasons_of(sentence: str) -> set[Span]:
    """Return the spans of the words that give the opinion: the judgement that decides, and the words that deny it.

    Raises:
        ValueError: the grammar does not make such a sentence.
    """
    for template, pattern in _PATTERNS.items():
        if found := pattern.fullmatch(sentence):
            return {found.span(template.decides), *(_denials(sentence) if template.denied else ())}
    raise ValueError(f"the grammar of polarity does not make {sentence!r}")


def _denials(sentence: str) -> list[Span]:
    return [
        (phrase.start() + word.start(), phrase.start() + word.end())
        for phrase in _DENIAL.finditer(sentence)
        for word in re.finditer(r"\w+", phrase[0])
    ]


def _any_of(words: Sequence[str]) -> str:
    return "(?:" + "|".join(words) + ")"


def _pattern(words: str) -> re.Pattern[str]:
    before = rf"(?:{_any_of(ADVERBS)}|a {_any_of(DEGREES)})"
    judgement = f"{before} (?P<{{}}>{_any_of(FAVOURABLE + UNFAVOURABLE)}), {_any_of(ASIDES)}"
    subject = _any_of(SUBJECTS)
    return re.compile(words.format(s=subject, t=subject, x=judgement.format("x"), y=judgement.format("y")))


_PATTERNS = {template: _pattern(template.words) for template in TEMPLATES}
