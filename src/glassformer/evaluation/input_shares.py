"""What each input of a row gives: the accuracy after its values have changed places between the rows."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Shaped

from glassformer.data.inputs import Inputs, with_parts
from glassformer.evaluation.intervals import RESAMPLES, bootstrap_mean
from glassformer.evaluation.metrics import correct_rows
from glassformer.evaluation.weak_spots import InputShare

MOST_ROWS = 2_000
SEED = 0

Answer = Callable[[list[str]], Float[np.ndarray, "n n_classes"]]


def input_shares(
    answer: Answer,
    rows: Sequence[str],
    labels: Shaped[np.ndarray, "n ..."],
    inputs: Inputs,
    *,
    multilabel: bool,
    resamples: int = RESAMPLES,
) -> tuple[InputShare, ...]:
    """Permute the values of each input among the rows, and measure how much accuracy that costs (Breiman 2001, §10).

    The rows keep their other inputs. At most `MOST_ROWS` rows are drawn at random.

    Args:
        answer: returns the probabilities (rows, n_classes) of composed rows.
        rows: composed rows.
        labels: class numbers (n,), or multi-hot (n, n_classes) with `multilabel`.
    """
    random = np.random.default_rng(SEED)
    drawn = np.sort(random.permutation(len(rows))[:MOST_ROWS])
    parts = [inputs.parts(rows[i]) for i in drawn]
    changed: dict[str, list[str]] = {}
    for name in inputs.names:
        order = random.permutation(len(parts))
        changed[name] = [
            with_parts(texts | {name: parts[other][0][name]}, values, inputs)
            if name in texts
            else with_parts(texts, values | {name: parts[other][1][name]}, inputs)
            for (texts, values), other in zip(parts, order.tolist(), strict=True)
        ]
    probs = answer([*(rows[i] for i in drawn), *(row for found in changed.values() for row in found)])
    right = [_right(each, labels[drawn], multilabel) for each in np.split(probs, 1 + len(changed))]
    return tuple(
        InputShare(
            name=name,
            kind="text" if name in inputs.texts else "column",
            rows=len(drawn),
            accuracy=float(right[0].mean()),
            accuracy_without=float(without.mean()),
            gain=bootstrap_mean(right[0].astype(np.int8) - without, seed=SEED, resamples=resamples),
        )
        for name, without in zip(changed, right[1:], strict=True)
    )


def _right(
    probs: Float[np.ndarray, "n n_classes"], labels: Shaped[np.ndarray, "n ..."], multilabel: bool
) -> Bool[np.ndarray, " n"]:
    return correct_rows(probs, labels, multilabel=multilabel)
