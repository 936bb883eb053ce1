"""An explanation of an answer: the shares of its words, and how far they can be trusted. `explain.py` makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from glassformer.data.wording import counted
from glassformer.errors import quoted
from glassformer.explanation.asked import Asked
from glassformer.explanation.counterfactual import Counterfactual
from glassformer.explanation.exact import MatchedRule
from glassformer.explanation.faithfulness import Faithfulness
from glassformer.explanation.neighbours import Neighbour
from glassformer.explanation.shares import NgramInMargin, Piece, WordShare, pieces_of

if TYPE_CHECKING:
    from glassformer.explanation.heads import Head
    from glassformer.prediction.nearest import NearestTexts

FAITHFUL = 0.9
"""From this score on, the shares of an explanation are said to be trustworthy."""
AGREEING = 0.5
"""Below this median rank correlation, the methods are said to disagree."""
_UNEXPLAINED = 0.25  # of the margin, or of `Asked.least` if that is larger
_LEAST_MOVED = 0.1  # of `Asked.least`: the sum of the sizes of all shares, below which there is nothing to explain
_WORDS_IN_PRINT = 8


@dataclass(frozen=True, kw_only=True)
class Passage:
    """A window of a long text: `text[start:end]`, and the margin that the transformer gives to it alone."""

    start: int
    end: int
    margin: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation:
    """Why a model gives an answer to a text.

    The margin is what is asked about: for a label, see `AskedLabel`; for a number, it is the number. It is the sum of
    the shares of all words, `without_known_words` and `unexplained`.

    Attributes:
        asked: what is asked. Its attributes are those of the explanation too: `prediction`, and `label`, `rival` and
            `probability` for labels, or `value` and `distance` for a number.
        without_known_words: what a text without known words would get: the bias of counting, and the
            transformer's margin for the same text with unknown words.
        unexplained: what the method leaves over. The shares of counting are exact.
        ngrams: those that move the margin most by counting, either way.
        rules: those that match the text, in the order of their file.
        faithfulness: None if the text has too few words for it, or it was not asked for.
        agreement: method → the rank correlation of its shares with these. Empty for the same reasons, or if
            the transformer does not take part in the answer.
        passages: those that the transformer reads one by one. Empty if it reads the whole text at once.
        unlike_training: whether the text is unlike the training data, so that the answer means little. None if the
            model does not know (see docs/how-it-works/unlike.md).
        counterfactual, heads, neighbours, near_in_body, nearest: see `explain`. Empty or None if they were not asked
            for.
        near_before: the body of `near_in_body`, if its vectors were continued for this model: they are those before.
    """

    text: str
    asked: Asked
    margin: float
    words: tuple[WordShare, ...]
    without_known_words: float
    unexplained: float
    ngrams: tuple[NgramInMargin, ...]
    method: str
    faithfulness: Faithfulness | None
    agreement: Mapping[str, float]
    passages: tuple[Passage, ...]
    rules: tuple[MatchedRule, ...] = ()
    unlike_training: bool | None = None
    counterfactual: Counterfactual | None = None
    heads: tuple[Head, ...] = ()
    neighbours: Mapping[str, tuple[Neighbour, ...]] = field(default_factory=dict)
    near_in_body: Mapping[str, tuple[Neighbour, ...]] = field(default_factory=dict)
    near_before: str | None = None
    nearest: NearestTexts | None = None

    def __getattr__(self, name: str) -> Any:
        """Look up in `asked` what belongs to a kind of answer."""
        if name.startswith("_") or "asked" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.asked, name)

    @property
    def readers(self) -> tuple[str, ...]:
        """The readers that take part in the answer."""
        return tuple(
            name
            for name in (self.words[0].shares if self.words else ())
            if any(word.shares[name] for word in self.words)
        )

    @property
    def headline(self) -> str:
        """The answer and what is explained, in a line."""
        return self.asked.headline

    def __str__(self) -> str:
        """The headline, the words with the largest shares, what the margin holds besides, rules, and the verdict."""
        strongest, others = self.strongest(_WORDS_IN_PRINT)
        rows = [(name, sum(word.total for word in words)) for name, words in strongest]
        if others:
            rows.append((f"the other {counted(len(others), 'word')}", sum(word.total for word in others)))
        shares = [f"{self.asked.written(share):>8}  {name}" for name, share in [*rows, *self.rest]]
        rules = list(map(str, self.rules))
        return "\n".join([self.headline, *shares, *rules, self.verdict, *([self.caution] if self.caution else [])])

    def __repr__(self) -> str:
        about = {**self.asked.as_json(), "margin": self.margin, "words": len(self.words), "trusted": self.trusted}
        about |= {"unlike_training": self.unlike_training}
        said = [
            f"{name}={value:.5g}" if isinstance(value, float) else f"{name}={value!r}" for name, value in about.items()
        ]
        return f"Explanation(text={quoted(self.text)}, {', '.join(said)})"

    def strongest(self, count: int) -> tuple[list[tuple[str, list[WordShare]]], list[WordShare]]:
        """Return the words with the largest shares, the strongest first, and all other words.

        If the text has more words than `count`, the occurrences of a word stand together, as `film (2 times)`. Of
        several texts, a word is named with its text, as `film (answer)`.
        """
        several = len({word.input for word in self.words if not word.is_value}) > 1
        together: dict[Any, list[WordShare]] = {}
        for place, word in enumerate(self.words):
            together.setdefault((word.word, word.input) if len(self.words) > count else place, []).append(word)
        order = sorted(together.values(), key=lambda words: -abs(sum(word.total for word in words)))
        named = [(f"{words[0].named(several=several)}{_times(len(words))}", words) for words in order[:count]]
        return named, [word for words in order[count:] for word in words]

    @property
    def rest(self) -> list[tuple[str, float]]:
        """What the margin holds besides the words, unless it is 0, and the margin: each with its name."""
        rest = (("if all words were unknown", self.without_known_words), ("not explained", self.unexplained))
        return [(name, value) for name, value in rest if not self.asked.is_nothing(value)] + [("sum", self.margin)]

    @property
    def where_near(self) -> str:
        """Where the words of `near_in_body` are near."""
        return f"the body `{self.near_before}`, before it was continued" if self.near_before else "the body"

    @property
    def caution(self) -> str:
        """A sentence if the text is unlike the training data; or empty."""
        return "The text is unlike the training data, so the answer means little." if self.unlike_training else ""

    @property
    def trusted(self) -> bool | None:
        """Whether the explanation, not the answer, can be trusted. None if it was not checked, or is empty."""
        if self.faithfulness is None or self._is_empty:
            return None
        return self.faithfulness.score >= FAITHFUL and not self.median_agreement < AGREEING

    @property
    def verdict(self) -> str:
        """A sentence that says how far the explanation, not the answer, can be trusted."""
        if not self.readers:
            return "The model knows no word of this text, so the answer does not depend on its words."
        asked = self.asked
        if abs(self.unexplained) > _UNEXPLAINED * max(asked.least, abs(self.margin - asked.offset)):
            return (
                f"{self._by_deletion('The order of the words in this explanation')} The shares do not add up: "
                f"{asked.written(self.unexplained)} of the {asked.whole} of {asked.written(self.margin)} is not "
                "explained."
            )
        return self._by_deletion("This explanation")

    @property
    def _is_empty(self) -> bool:
        """Whether the words hardly move the answer. What is not explained may come from words too."""
        moved = sum(abs(word.total) for word in self.words) + abs(self.unexplained)
        return moved < _LEAST_MOVED * self.asked.least

    def _by_deletion(self, trusted: str) -> str:
        """Say what the check by deletion of words found.

        Args:
            trusted: what can be trusted if the shares did well.
        """
        if self._is_empty:
            return "There is nothing to explain: the words hardly move this answer."
        found = self.faithfulness
        if found is None:
            return "The text has too few words to check this explanation by deleting some of them."
        checked = f"by deletion of words, its shares did better in {found.won} comparisons with random rankings"
        if found.score < FAITHFUL:
            return f"Do not rely on this explanation: {checked}; it needs {FAITHFUL:.0%} of them."
        if self.median_agreement < AGREEING:
            median = f"{self.median_agreement:.2f}".replace("-", "−")
            return (
                f"Do not rely on the order of the words in this explanation: {checked}, but other methods rank the "
                f"words differently (median rank correlation {median})."
            )
        return f"{trusted} can be trusted: {checked}. It says what moved the answer, which may be wrong."

    @property
    def median_agreement(self) -> float:
        """The median of `agreement`; NaN if it is empty. One poor method among the others does not move it."""
        return float(np.median(list(self.agreement.values()))) if self.agreement else float("nan")

    @property
    def deciding(self) -> Passage | None:
        """The passage that speaks for the label most. None if the text is read at once."""
        return max(self.passages, key=lambda passage: passage.margin, default=None)

    def pieces(self) -> Iterator[Piece]:
        """Yield the whole text in pieces, each word with its side and strength."""
        return pieces_of(self.text, [(word.start, word.end, word.total) for word in self.words])

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"text": self.text, **self.asked.as_json()}
        found |= {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("text", "asked")}
        found["words"] = [word.as_json() | self.asked.of_word(word.shares) for word in self.words]
        found["ngrams"] = [ngram.as_json() for ngram in self.ngrams]
        found["faithfulness"] = None if self.faithfulness is None else asdict(self.faithfulness)
        found["rules"] = list(map(asdict, self.rules))
        found["passages"], found["heads"] = list(map(asdict, self.passages)), list(map(asdict, self.heads))
        for name in ("neighbours", "near_in_body"):
            found[name] = {word: list(map(asdict, near)) for word, near in getattr(self, name).items()}
        if self.nearest is not None:
            about = {"compared": self.nearest.compared, "remark": self.nearest.remark}
            found["nearest"] = asdict(self.nearest) | about
        if self.counterfactual is not None:
            found["counterfactual"] = self.counterfactual.as_json()
        return found | {"readers": self.readers, "trusted": self.trusted, "verdict": self.verdict}


def in_list(word: str) -> str:
    """Return a word as it stands in a list: in quotes if it has no letter and no digit, as a comma."""
    return word if any(map(str.isalnum, word)) and "," not in word else quoted(word)


def _times(count: int) -> str:
    return f" ({count:,} times)" if count > 1 else ""
