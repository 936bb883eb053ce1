"""Does a ranking of words say what the model relies on? Words are deleted, and the model answers again.

A ranking is compared with random rankings of the same words, because any deletion changes an answer.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from glassformer.data.arrays import DoubleArray
from glassformer.explanation.words import TextInWords

Margins = Callable[[Sequence[str]], DoubleArray]
"""Returns the margin of each text."""

SHARES = (0.1, 0.2, 0.3, 0.5)
"""How many of the words are deleted or kept, as shares of all words, rounded up."""
FEWEST_WORDS = 4
RANDOM_RANKINGS = 20


@dataclass(frozen=True, kw_only=True)
class Faithfulness:
    """How deletions by a ranking compare with deletions by random rankings.

    Attributes:
        comprehensiveness: by how much the margin falls without the first words of the ranking, on average over `SHARES`
            (DeYoung et al. 2020, §4.2). High is good.
        sufficiency: by how much it falls with these words alone. Low is good.
        random_comprehensiveness, random_sufficiency: the means of `RANDOM_RANKINGS` random rankings.
        score: the share of random rankings that the ranking beats, a mean over both measures; a tie counts half. Chance
            gives .5.
        rankings: how many random rankings it was compared with.
    """

    comprehensiveness: float
    sufficiency: float
    random_comprehensiveness: float
    random_sufficiency: float
    score: float
    rankings: int

    @property
    def won(self) -> str:
        """The score in counts: "39 of 40", as each random ranking is compared by both measures."""
        return f"{round(4 * self.score * self.rankings) / 2:g} of {2 * self.rankings}"


def measure_faithfulness(
    text: TextInWords, shares: DoubleArray, margins: Margins, *, rankings: int = RANDOM_RANKINGS, seed: int = 0
) -> Faithfulness | None:
    """Compare the ranking by shares with random ones. None if there are too few words for that.

    Args:
        shares: (words,) what each word adds to the margin. The highest is the first of the ranking.
    """
    if len(text.words) < FEWEST_WORDS:
        return None
    random = np.random.default_rng(seed)
    order = np.argsort(-shares, kind="stable")
    orders = [order, *(random.permutation(len(order)) for _ in range(rankings))]
    counts = sorted({int(np.ceil(share * len(order))) for share in SHARES})
    cut = [text.without(gone.tolist()) for order in orders for n in counts for gone in (order[:n], order[n:])]
    whole, *after = margins([text.text, *cut]).tolist()
    falls = (whole - np.array(after).reshape(len(orders), len(counts), 2)).mean(axis=1)  # (rankings, 2)
    comprehensiveness, sufficiency = falls[0]
    beaten = _beaten(comprehensiveness, falls[1:, 0]) + _beaten(-sufficiency, -falls[1:, 1])
    return Faithfulness(
        comprehensiveness=float(comprehensiveness),
        sufficiency=float(sufficiency),
        random_comprehensiveness=float(falls[1:, 0].mean()),
        random_sufficiency=float(falls[1:, 1].mean()),
        score=round(beaten / 2, 6),  # 18 of 20 is .9 and not a little less
        rankings=rankings,
    )


def _beaten(value: float, others: DoubleArray) -> float:
    """Return the share of the others that are lower. An equal one counts half."""
    return float(((others < value) + 0.5 * (others == value)).mean())
