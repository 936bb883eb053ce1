"""What more labels would bring: the error at parts of the rows, and curves through it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from glassformer.data.arrays import Array
from glassformer.data.wording import short
from glassformer.labels.answering import held_out_logits
from glassformer.labels.repeats import OnProgress, silent
from glassformer.readers.reader import Fold, Rows

SHARES = (0.125, 0.25, 0.5)
"""The parts of the rows that are learned from, beside all of them."""
MORE = {100: 0, 500: 0, 1_000: 200}
"""How many more rows are foretold, and from how many rows on."""
_FEWEST_ROWS, _FEWEST_PER_CLASS, _FEWEST_NUMBERS = 60, 5, 200
_EXPONENTS = np.linspace(0, 1, 101)
_RESAMPLES = 500
_NORMAL = 1.96  # standard errors, of an interval of 95%
_LITTLE = 0.01  # a gain below a point of accuracy is not worth labels
_LITTLE_OF_NUMBERS = 0.05  # nor is one below this share of a mean error
_BEGUN = 0.9  # of the error of the mean

Learn = Callable[[Sequence[Fold], OnProgress], Array]
"""Learns from the rows of each fold, and returns how wrong the answers to the held-out rows of all folds are."""


@dataclass(frozen=True, kw_only=True)
class Gain:
    """How much the error should fall with so many more rows, and an interval.

    Of labels it is a share: .01 is a percentage point of accuracy. The interval spans curves that level off and curves
    that do not. It held the gain of new rows less often than 95% of the time: see docs/how-it-works/labels.md.
    """

    more: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """How the error falls with the number of rows.

    Attributes:
        rows: how many rows were learned from, fewest first.
        errors: the share of wrong answers to rows that were not learned from, after each of these; of numbers, how far
            off they are on average.
        gains: what more rows of the same kind should take from the error that all rows leave, fewest first.
        baseline_error: of numbers, the mean error of always answering their mean. None: labels were learned.
    """

    rows: tuple[int, ...]
    errors: tuple[float, ...]
    gains: tuple[Gain, ...]
    baseline_error: float | None = None

    @property
    def gain(self) -> Gain:
        """What the most rows that are foretold should bring."""
        return self.gains[-1]

    @property
    def batch(self) -> Gain:
        """What the fewest rows that are foretold should bring."""
        return self.gains[0]

    @property
    def of_numbers(self) -> bool:
        return self.baseline_error is not None

    @property
    def accuracies(self) -> tuple[float, ...]:
        """The accuracy after each number of rows, if labels were learned."""
        return tuple(1 - error for error in self.errors)

    @property
    def is_enough(self) -> bool:
        """Whether the most rows that are foretold would hardly help, even at the better end of the interval.

        If numbers have hardly begun to be learned, the curve does not show yet how much more rows bring.
        """
        if self.baseline_error is None:
            return self.gain.high < _LITTLE
        return self.gain.high < _LITTLE_OF_NUMBERS * self.errors[-1] and self.errors[-1] < _BEGUN * self.baseline_error

    def in_words(self, rows: str = "rows of the same kind", gain: Gain | None = None) -> str:
        """Say what more rows would bring, by default the most that are foretold.

        If every curve takes away all errors that are left, only their number is said: it is no forecast.
        """
        gain = gain or self.gain
        if gain.low >= self.errors[-1]:
            return self._at_most(rows)
        figures = gain.value, gain.low, gain.high
        if self.of_numbers:
            value, low, high = (short(float(f"{figure:.2g}")) for figure in figures)
            said = f"make it about {value} less off on average (likely {low} to {high})"
        else:
            value, low, high = (f"{100 * figure:.1f}" for figure in figures)
            said = f"add about {value} percentage points of accuracy (likely {low} to {high})"
        return f"{gain.more:,} more {rows} would {said}"

    def _at_most(self, rows: str) -> str:
        """Say what the errors that are left leave to more rows."""
        left = self.errors[-1]
        if not left:
            return f"no held-out answer is wrong, so more {rows} have nothing left to mend here"
        if self.of_numbers:
            return f"more {rows} would make it at most {short(float(f'{left:.2g}'))} less off on average"
        return f"more {rows} would add at most {100 * left:.1f} percentage points of accuracy"


def learning_curve(
    labelled: Rows,
    folds: Sequence[Fold],
    right: Array,
    *,
    more: Sequence[int] | None = None,
    on_progress: OnProgress = silent,
) -> LearningCurve | None:
    """Learn from parts of the rows, and foretell what more rows would bring.

    Each part holds the smaller ones, and all are judged by the same rows.

    Args:
        right: (rows,) which rows are answered rightly by readers that learned from all rows of the other folds.
        more: how many more rows to foretell. By default those of `MORE` that so few rows can tell.

    Returns:
        None if there are too few rows for a curve.
    """
    if len(labelled.texts) < fewest_rows(labelled.width):
        return None

    def learn(parts: Sequence[Fold], progress: OnProgress) -> Array:
        logits = held_out_logits(labelled, parts, progress)
        return ~right_rows(logits, labelled.truth[np.concatenate([part.held_out for part in parts])])

    return curve_through(folds, ~right.astype(np.bool_), learn, more=more, on_progress=on_progress)


def curve_through(
    folds: Sequence[Fold],
    errors: Array,
    learn: Learn,
    *,
    baseline_error: float | None = None,
    more: Sequence[int] | None = None,
    on_progress: OnProgress = silent,
) -> LearningCurve:
    """Do the same with any errors: how wrong each row is answered by a reader that learned all rows of the other folds.

    Args:
        errors: (rows,) whether it is wrong, or how far off a number is.
        baseline_error: the mean error of always answering the mean of numbers.
    """
    rng = np.random.default_rng(0)
    ends = np.cumsum([len(fold.held_out) for fold in folds])
    rows, found = _at_parts(folds, errors, learn, rng, on_progress)
    return LearningCurve(
        rows=tuple(round(size) for size in rows.tolist()),
        errors=tuple(found.mean(axis=1).tolist()),
        gains=_forecasts(rows, np.split(found, ends[:-1], axis=1), len(errors), more or foretold(len(errors)), rng),
        baseline_error=baseline_error,
    )


def fewest_rows(n_classes: int) -> int:
    """Return how many rows a table needs for a curve. Without classes, its labels are numbers."""
    if not n_classes:
        return _FEWEST_NUMBERS
    return max(_FEWEST_ROWS, _FEWEST_PER_CLASS * n_classes)


def foretold(rows: int) -> tuple[int, ...]:
    """Return how many more rows can be foretold from so many."""
    return tuple(more for more, fewest in MORE.items() if rows >= fewest)


def _at_parts(
    folds: Sequence[Fold], errors: Array, learn: Learn, rng: np.random.Generator, on_progress: OnProgress
) -> tuple[Array, Array]:
    """Return the numbers of rows that are learned from, and for each how wrong each row is answered: (sizes, rows)."""
    orders = [rng.permutation(fold.learned) for fold in folds]
    judged = np.concatenate([fold.held_out for fold in folds])
    found, sizes = [], []
    for number, share in enumerate(SHARES):
        parts = [
            Fold(learned=np.sort(order[: round(share * len(order))]), held_out=fold.held_out)
            for order, fold in zip(orders, folds, strict=True)
        ]
        found.append(learn(parts, _in_parts(number, on_progress)))
        sizes.append(float(np.mean([len(part.learned) for part in parts])))
    rows = np.array([*sizes, float(np.mean([len(order) for order in orders]))])
    return rows, np.stack([*found, errors[judged]])


def right_rows(logits: Array, labels: Array) -> Array:
    """Return which rows are answered rightly. With several labels per text, all of them must be right."""
    return logits.argmax(axis=1) == labels if labels.ndim == 1 else ((logits >= 0) == (labels > 0)).all(axis=1)


def _in_parts(number: int, on_progress: OnProgress) -> OnProgress:
    return lambda done: on_progress((number + done) / len(SHARES))


def _forecasts(
    rows: Array, errors: Sequence[Array], now: int, more: Sequence[int], rng: np.random.Generator
) -> tuple[Gain, ...]:
    """Return how much the error falls from `now` rows to each number of more rows.

    The estimate is that of a power law. Beyond the rows the right curve is unknown, so the interval spans three curves.
    Each is fitted to 500 bootstrap samples (Efron 1979). A number learned from few rows may be no better than the
    mean, and its error falls faster later. If a straight line fits best, it is the estimate and one of the curves.
    Where few rows were drawn so that no curve falls, the interval still holds what one falls by chance.

    Args:
        rows: (sizes,) numbers of rows that were learned from.
        errors: for each fold, how wrong its held-out rows are then answered: (sizes, held-out rows).
    """
    at = np.array([now, *(now + each for each in more)])
    found = np.concatenate(errors, axis=1).mean(axis=1)
    of_numbers = errors[0].dtype != np.bool_
    fitted = (curve(rows, found[None], rows)[0] for curve in (straight, line, power_law))
    misses = [float(np.square(each - found).sum()) for each in fitted]
    steeper = of_numbers and misses[0] < min(misses[1:])
    drawn = _drawn_means(errors, rng) if of_numbers else _drawn_shares(errors, rng)
    curves = [each(rows, drawn, at) for each in (power_law, power_law_with_floor, straight if steeper else line)]
    falls = [curve[:, :1] - curve[:, 1:] for curve in curves]  # each (resamples, more)
    low, high = np.quantile(np.concatenate(falls), [0.025, 0.975], axis=0)
    high = np.maximum(high, _NORMAL * _slopes(np.log(rows), drawn).std() * np.log(at[1:] / now))
    (errors_at,) = (straight if steeper else power_law)(rows, found[None], at)
    ends = np.clip([errors_at[0] - errors_at[1:], low, high], 0.0, found[-1])  # no more than all errors
    gains = zip(more, *ends.tolist(), strict=True)
    return tuple(Gain(more=each, value=value, low=low, high=high) for each, value, low, high in gains)


def _drawn_shares(wrong: Sequence[Array], rng: np.random.Generator) -> Array:
    """Draw folds anew, and then rows of each, and return the shares of wrong answers: (resamples, sizes).

    Folds are drawn because each was answered by readers of its own. Rows with the same answers are counted together, so
    many rows take no longer than few.
    """
    sizes = np.arange(len(wrong[0]))
    answers = np.arange(2 ** len(sizes))[:, None] >> sizes & 1  # (combinations of right and wrong answers, sizes)
    counts = [np.bincount((1 << sizes) @ ~fold, minlength=len(answers)) for fold in wrong]
    errors = []
    for _ in range(_RESAMPLES):
        drawn = [counts[fold] for fold in rng.integers(0, len(counts), len(counts))]
        total = np.sum([rng.multinomial(count.sum(), count / count.sum()) for count in drawn], axis=0)
        errors.append(1 - total @ answers / total.sum())
    return np.stack(errors)


def _drawn_means(errors: Sequence[Array], rng: np.random.Generator) -> Array:
    """Draw folds anew, and then the mean errors of each, as if they were normal: (resamples, sizes)."""
    rows = np.array([fold.shape[1] for fold in errors])
    of_folds = [(fold.mean(axis=1), np.cov(fold) / count) for fold, count in zip(errors, rows.tolist(), strict=True)]
    means = []
    for _ in range(_RESAMPLES):
        drawn = rng.integers(0, len(of_folds), len(of_folds))
        each = [rng.multivariate_normal(*of_folds[fold]) for fold in drawn]
        means.append(np.average(each, axis=0, weights=rows[drawn]))
    return np.maximum(means, 0)


def power_law(rows: Array, errors: Array, at: Array) -> Array:
    """Fit errors b · n^−c by least squares, and return those at other numbers of rows n: (curves, other numbers).

    Args:
        rows: (sizes,)
        errors: (curves, sizes), each of them fitted for itself.
        at: (other numbers,)
    """
    terms = _terms(rows, rows)
    slopes = errors @ terms.T / (terms**2).sum(axis=1)
    return _best(np.zeros_like(slopes), slopes, rows, errors, at)


def power_law_with_floor(rows: Array, errors: Array, at: Array) -> Array:
    """Do the same with a + b · n^−c, a and b not below 0: the error that stays (Cortes et al. 1994, eq. 1)."""
    terms = _terms(rows, rows)
    centred = terms - terms.mean(axis=1, keepdims=True)
    squares = np.maximum((centred**2).sum(axis=1), 1e-12)  # with an exponent of 0 all terms are the same
    slopes = np.maximum(0, errors @ centred.T / squares)
    floors = errors.mean(axis=1, keepdims=True) - slopes * terms.mean(axis=1)
    without = errors @ terms.T / (terms**2).sum(axis=1)
    return _best(np.maximum(0, floors), np.where(floors < 0, without, slopes), rows, errors, at)


def line(rows: Array, errors: Array, at: Array) -> Array:
    """Do the same with a − b · ln n, b not below 0: each doubling of the rows brings the same. It may fall below 0."""
    return straight(np.log(rows), errors, np.log(at))


def straight(rows: Array, errors: Array, at: Array) -> Array:
    """Do the same with a − b · n, b not below 0: each row brings the same. It may fall below 0."""
    slopes = np.minimum(0, _slopes(rows, errors))
    return errors.mean(axis=1)[:, None] + slopes[:, None] * (at - rows.mean())


def _slopes(rows: Array, errors: Array) -> Array:
    """Return the slopes of lines through errors: (curves,)."""
    centred = rows - rows.mean()
    slopes: Array = errors @ centred / (centred**2).sum()
    return slopes


def _terms(rows: Array, at: Array) -> Array:
    """Return n^−c, scaled to 1 for the fewest rows: (exponents, other numbers)."""
    return (at / rows[0]) ** -_EXPONENTS[:, None]


def _best(floors: Array, slopes: Array, rows: Array, errors: Array, at: Array) -> Array:
    """Return each curve with the exponent that misses its errors least. Floors and slopes: (curves, exponents)."""
    misses = floors[..., None] + slopes[..., None] * _terms(rows, rows) - errors[:, None]
    best = np.arange(len(errors)), (misses**2).sum(axis=2).argmin(axis=1)
    return floors[best][:, None] + slopes[best][:, None] * _terms(rows, at)[best[1]]
