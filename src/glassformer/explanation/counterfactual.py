"""The smallest change of words that turns an answer, found by search with a budget of answers."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from glassformer.data.arrays import DoubleArray
from glassformer.data.input_layout import Layout
from glassformer.data.inputs import mark, values_of
from glassformer.explanation.asked import Goal
from glassformer.explanation.neighbours import neighbours_of
from glassformer.explanation.question import Question
from glassformer.explanation.words import Word
from glassformer.readers.counting.reader import spread

BUDGET = 500
"""How many changed texts the model answers at most."""
_WORDS_DROPPED, _WORDS_SWAPPED = 64, 16
_NEIGHBOURS, _COUNTED = 4, 6  # words to swap a word for, from the embeddings and from the counting reader
_PAIRED = 12  # words whose changes are tried in pairs
_MOST_CHANGES = 40
_VALUES = 20  # of a column
_AT_ONCE = 16  # changed texts in a step of the search

Changes = Mapping[int, str]
"""The number of a word → what stands there instead. Empty if the word is dropped."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A word that is changed, `text[start:end]` of the text. `after` is empty if the word is dropped."""

    before: str
    after: str
    start: int
    end: int


@dataclass(frozen=True, kw_only=True)
class Counterfactual:
    """A change of words that turns an answer.

    Attributes:
        changes: in the order of the text. Empty if none was found.
        answer: the answer to it, as JSON values: `prediction`, and what belongs to it.
        budget: how many it was allowed to.
    """

    changes: tuple[Change, ...]
    text: str
    answer: Mapping[str, Any]
    shown: str
    answers: int
    budget: int
    sentence: str

    @property
    def prediction(self) -> Any:
        return self.answer["prediction"]

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        found = {"changes": tuple(map(asdict, self.changes)), "text": self.text, **self.answer}
        return found | {"answers": self.answers, "budget": self.budget, "sentence": self.sentence}


Steps = Generator[int, None, Counterfactual]
"""A search in steps. Each yields how many changed texts were answered so far."""
_Step = Generator[int, None, DoubleArray]


def find_counterfactual(question: Question, shares: DoubleArray, *, budget: int = BUDGET) -> Counterfactual:
    """Search for the smallest change of words that turns the answer (`searching`), without a pause."""
    steps = searching(question, shares, budget=budget)
    while (found := step_of(steps)) is None:
        pass
    return found


def step_of(steps: Steps) -> Counterfactual | None:
    """Do a step of a search. Return what was found, or None if it goes on."""
    try:
        next(steps)
    except StopIteration as end:
        return end.value
    return None


def searching(question: Question, shares: DoubleArray, *, budget: int = BUDGET) -> Steps:
    """Search for the smallest change of words that turns the answer, in steps of a few answers.

    The value of a column is replaced by another value of it. A word is dropped, or swapped for a near word of the
    embeddings or for a word by which counting turns the answer most. The search tries single words: those dropped
    first, then those swapped. Then it tries pairs of the strongest changes, then more and more of them at once, and
    puts back each word that is not needed. A smaller change may exist that it does not try. If there are several goals,
    each gets an equal part of the budget, and the one that needs the fewest changes counts.

    Args:
        shares: (words,) what each word adds to the margin.
    """
    goals, answers = question.goals, 0
    best: tuple[Changes, Goal] = {}, goals[0]
    for number, goal in enumerate(goals, 1):
        search = _Search(question, goal, budget * number // len(goals), answers)
        found = yield from _reached(search, shares)
        answers = search.answers
        if found and (not best[0] or len(found) < len(best[0])):
            best = found, goal
    return _described(question, *best, answers, budget)


def _reached(search: _Search, shares: DoubleArray) -> Generator[int, None, Changes | None]:
    """Return a small change of words that reaches the goal of a search."""
    answered: list[tuple[float, Changes]] = []
    for singles in _singles(search.question, shares, sign=search.goal.sign):
        gaps = yield from search.ask(singles)
        if (found := _lowest(singles, gaps)) is not None:
            return found
        answered += zip(gaps.tolist(), singles, strict=False)
    ranked = _strongest(answered)
    pairs = [_joined(pair) for pair in combinations(ranked[:_PAIRED], 2)]
    found = _lowest(pairs, (yield from search.ask(pairs)))
    if found is None:
        prefixes = [_joined(ranked[:n]) for n in range(3, min(len(ranked), _MOST_CHANGES) + 1)]
        found = yield from _shrunk(search, prefixes)
    return found


def _strongest(answered: Iterable[tuple[float, Changes]]) -> list[Changes]:
    """Return for each word the change of it that turns the answer furthest, these words first.

    No word stands in the place of two words.
    """
    best: dict[int, Changes] = {}
    used: set[str] = set()
    for _, single in sorted(answered, key=lambda pair: pair[0]):
        ((number, after),) = single.items()
        if number not in best and after not in used:
            best[number] = single
            used |= {after} - {""}
    return list(best.values())


class _Search:
    """Asks the model about changed texts until the budget is spent.

    Attributes:
        answers: how many changed texts were answered so far, also for other goals.
    """

    def __init__(self, question: Question, goal: Goal, budget: int, answers: int) -> None:
        self.question, self.goal, self.budget, self.answers = question, goal, budget, answers

    def ask(self, changed: Sequence[Changes]) -> _Step:
        """Return how far each text is from the goal: below 0 it is reached.

        The result is shorter if the budget is spent.
        """
        asked = changed[: self.budget - self.answers]
        gaps = [np.zeros(0)]
        for first in range(0, len(asked), _AT_ONCE):
            texts = [self.question.text.changed(changes) for changes in asked[first : first + _AT_ONCE]]
            gaps.append(self.goal.gaps(self.question.predictor.logits(texts)))
            self.answers += len(texts)
            yield self.answers
        return np.concatenate(gaps)


def _singles(question: Question, shares: DoubleArray, *, sign: int) -> list[list[Changes]]:
    """Return changes of one word by kind: other values of columns, words dropped, words swapped for others.

    The words that hold the answer most come first.
    """
    values = _other_values(question)
    order = [number for number in np.argsort(-sign * shares, kind="stable").tolist() if number not in values]
    words = {number: question.text.words[number].text for number in order[:_WORDS_SWAPPED]}
    trained = question.predictor.trained
    near = neighbours_of(getattr(trained, "model", None), trained.tokenizer, words.values(), count=_NEIGHBOURS)
    counted = _words_that_turn(question, sign)
    return [
        [{number: other} for number, others in values.items() for other in others],
        [{number: ""} for number in order[:_WORDS_DROPPED]],
        [{number: other.word} for number, word in words.items() for other in near.get(word, ())],
        [{number: other} for number, word in words.items() for other in counted if other != word.lower()],
    ]


def _other_values(question: Question) -> dict[int, list[str]]:
    """Return for each word that is the value of a column what may stand there instead."""
    inputs, text = question.predictor.trained.config.inputs, question.text
    columns = () if inputs is None else inputs.columns
    found = {}
    for number, (word, column) in enumerate(zip(text.words, columns, strict=False)):  # columns come first
        marks = [mark(column.name, value) for value in column.all_values[:_VALUES]]
        found[number] = [each for each in marks if each != text.text[word.start : word.end]]
    return found


def _words_that_turn(question: Question, sign: int) -> list[str]:
    """Return the single words by which the counting reader turns the answer most."""
    reader = question.predictor.trained.counting
    family = next((each for each in reader.families if each.family == "words"), None) if reader else None
    direction = question.direction_of("counting")
    if reader is None or family is None or not direction.any():
        return []
    outputs = family.of_one_among(len(question.text.words))
    effects = sign * spread(outputs, reader.n_classes) @ direction
    words = [number for number, ngram in enumerate(family.ngrams) if " " not in ngram and ngram.isalpha()]
    order = sorted(words, key=lambda number: effects[number])
    return [family.ngrams[number] for number in order[:_COUNTED]]


def _shrunk(search: _Search, prefixes: Sequence[Changes]) -> Generator[int, None, Changes | None]:
    """Return the shortest of these changes that turns the answer, without the parts that are not needed for it."""
    gaps = yield from search.ask(prefixes)
    found = next((prefix for prefix, gap in zip(prefixes, gaps, strict=False) if gap < 0), None)
    while found is not None and len(found) > 1:
        fewer = [{number: after for number, after in found.items() if number != left_out} for left_out in found]
        smaller = _lowest(fewer, (yield from search.ask(fewer)))
        if smaller is None:
            break
        found = smaller
    return found


def _lowest(changed: Sequence[Changes], gaps: DoubleArray) -> Changes | None:
    """Return the change that turns the answer furthest, or None if none does."""
    return changed[int(gaps.argmin())] if len(gaps) and gaps.min() < 0 else None


def _joined(several: Iterable[Changes]) -> Changes:
    return {number: after for changes in several for number, after in changes.items()}


def _change(question: Question, word: Word, after: str) -> Change:
    start, end = question.layout.span(word.start, word.end)
    return Change(before=word.text, after=next(iter(values_of(after)), after), start=start, end=end)


def _described(question: Question, found: Changes, goal: Goal, answers: int, budget: int) -> Counterfactual:
    text, asked = question.text.changed(found), question.asked
    answer = asked.after(question.predictor.answer([text]))
    changes = tuple(
        _change(question, word, found[number]) for number, word in enumerate(question.text.words) if number in found
    )
    done = [
        f"replace {change.before!r} by {change.after!r}" if change.after else f"drop {change.before!r}"
        for change in changes
    ]
    all_done = " and ".join(filter(None, [", ".join(done[:-1]), *done[-1:]]))
    sentence = (
        f"The answer {goal.reached} if you {all_done} ({answers} changed texts were answered)."
        if done
        else f"No change of words was found that {asked.wanted}: {answers} changed texts were answered, of at most "
        f"{budget}."
    )
    return Counterfactual(
        changes=changes,
        text=Layout.of(text, question.predictor.trained.config.inputs).text,
        answer=answer,
        shown=asked.shown(answer),
        answers=answers,
        budget=budget,
        sentence=sentence,
    )
