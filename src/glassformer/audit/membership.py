"""Can anyone tell from a model's answers whether a text was in its training table?

The attack by the loss is that of Yeom et al. 2018: a text that the model answers with a lower loss than others was
probably learned. Carlini et al. 2022 argue that the share of texts recognised at few false alarms matters more than
the area under the curve. The attack by twins compares the loss of a text with that of near copies (Mattern et al.
2023).
"""

import math
import re
from collections.abc import Callable, Sequence

import numpy as np

from glassformer.audit.result import Attack, Twins
from glassformer.data.arrays import Array, DoubleArray
from glassformer.data.inputs import BEGIN, MARK, SEPARATOR, with_texts_changed
from glassformer.evaluation.intervals import LEVEL, bootstrap_mean, normal
from glassformer.evaluation.record import Estimate

Scores = DoubleArray
LogitsOf = Callable[[Sequence[str]], Array]
LossOf = Callable[[Array], Scores]
FALSE_ALARMS = 0.01
SEEN_WORDS, KNOWN_NGRAMS = "seen words and word pairs", "n-grams of the counting reader"
_FEWEST_OTHERS = 100  # to know a share of 1 in 100
_RESAMPLES = 500
_WORD = re.compile(rf"{MARK}|[^\s{SEPARATOR}]+")


def attack(by: str, whom: str, members: Scores, others: Scores, *, seed: int = 0) -> Attack:
    """Measure an attack that takes the texts with the highest scores for members."""
    return Attack(by=by, whom=whom, auc=area(members, others), caught=caught(members, others, seed=seed))


def area(members: Scores, others: Scores) -> Estimate:
    """Return the area under the ROC curve, with the interval of DeLong et al. 1988."""
    of_member, of_other = _beaten(members, others), 1 - _beaten(others, members)
    value = float(of_member.mean())
    error = math.sqrt(_variance_of_mean(of_member) + _variance_of_mean(of_other))
    return normal(value, error, lowest=0.0, highest=1.0)


def _beaten(scores: Scores, among: Scores) -> Scores:
    """Return the share of `among` that is below each score. Equal ones count half."""
    ordered = np.sort(among)
    below, not_above = np.searchsorted(ordered, scores, "left"), np.searchsorted(ordered, scores, "right")
    return (below + not_above) / (2 * len(ordered))


def _variance_of_mean(values: Scores) -> float:
    return float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.25


def caught(members: Scores, others: Scores, *, seed: int) -> Estimate | None:
    """Return the share of members above a threshold that 1 in 100 others pass, with a bootstrap interval.

    Of scores equal to the threshold, as many pass as needed, chosen at random. Both sides are drawn anew for the
    interval, as the threshold depends on few of the others.
    """
    if len(others) < _FEWEST_OTHERS:
        return None
    draw = np.random.default_rng(seed)
    resampled = [
        _share_above(draw.choice(members, len(members)), draw.choice(others, len(others))) for _ in range(_RESAMPLES)
    ]
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value=_share_above(members, others), low=float(low), high=float(high))


def _share_above(members: Scores, others: Scores) -> float:
    place = len(others) - 1 - int(FALSE_ALARMS * len(others))
    threshold = np.partition(others, place)[place]
    above, equal = float((others > threshold).mean()), float((others == threshold).mean())
    passing = (FALSE_ALARMS - above) / equal
    return float((members > threshold).mean() + passing * (members == threshold).mean())


def twins_of(texts: Sequence[str], words: Sequence[str], *, copies: int, seed: int = 0) -> list[list[str]]:
    """Return near copies of each text: one word of it is replaced by a word drawn from `words`.

    Words are separated by white space. A text without words is its own copy. Of a row with several inputs, a word of
    its texts is replaced.
    """
    draw = np.random.default_rng(seed)

    def twin(text: str) -> str:
        places = [found.span() for found in _WORD.finditer(text) if not found[0].startswith(BEGIN)]
        if not places:
            return text
        start, end = places[int(draw.integers(len(places)))]
        return text[:start] + words[int(draw.integers(len(words)))] + text[end:]

    return [[twin(spaced) for _ in range(copies)] for spaced in map(_one_space, texts)]


def _one_space(text: str) -> str:
    """Return a text with one space between words."""
    return with_texts_changed(text, lambda each: " ".join(each.split()))


def rises(logits_of: LogitsOf, texts: Sequence[str], copies: Sequence[Sequence[str]], loss: LossOf) -> Scores:
    """Return by how much the mean loss of its copies is above that of each text: (texts,).

    Args:
        loss: the losses (texts,) from logits; each text has the label of the same place.
    """
    of_text = loss(logits_of([_one_space(text) for text in texts]))
    each = len(copies[0])
    of_copies = [loss(logits_of([found[number] for found in copies])) for number in range(each)]
    return np.mean(of_copies, axis=0) - of_text


def compare_twins(members: Scores, others: Scores) -> Twins:
    """Compare how much the loss rises for copies of learned texts and of others."""
    of_members, of_others = bootstrap_mean(members, seed=0), bootstrap_mean(others, seed=1)
    error = math.sqrt(_variance_of_mean(members) + _variance_of_mean(others))
    return Twins(
        texts=len(members),
        training=of_members,
        others=of_others,
        difference=normal(of_members.value - of_others.value, error),
    )
