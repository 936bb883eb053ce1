"""What each input of a row gives: the accuracy or R² after its values have changed places between the rows."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float, Int, Shaped

from glassformer.data.inputs import Inputs, with_parts
from glassformer.evaluation.intervals import RESAMPLES, bootstrap_mean
from glassformer.evaluation.metrics import correct_rows
from glassformer.evaluation.number_metrics import difference_in_r2
from glassformer.evaluation.number_result import NumberInputShare
from glassformer.evaluation.weak_spots import InputShare

MOST_ROWS = 2_000
SEED = 0

Answer = Callable[[list[str]], Float[np.ndarray, "n n_classes"]]
AnswerNumbers = Callable[[list[str]], Float[np.ndarray, " n"]]


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
    drawn, changed, asked = _permuted(rows, inputs)
    right = [
        correct_rows(each, labels[drawn], multilabel=multilabel) for each in np.split(answer(asked), 1 + len(changed))
    ]
    return tuple(
        InputShare(
            name=name,
            kind=_kind(name, inputs),
            rows=len(drawn),
            accuracy=float(right[0].mean()),
            accuracy_without=float(without.mean()),
            gain=bootstrap_mean(right[0].astype(np.int8) - without, seed=SEED, resamples=resamples),
        )
        for name, without in zip(changed, right[1:], strict=True)
    )


def number_input_shares(
    answer: AnswerNumbers,
    rows: Sequence[str],
    truth: Float[np.ndarray, " n"],
    inputs: Inputs | None,
    *,
    resamples: int = RESAMPLES,
) -> tuple[NumberInputShare, ...]:
    """Measure how much R² it costs to permute the values of each input, as `input_shares` does for accuracy.

    Args:
        answer: returns the numbers (rows,) of composed rows.
        rows: composed rows.
        truth: the right numbers (n,). The result is empty if those of the drawn rows do not vary.
        inputs: None if a row is one text. The result is then empty.
    """
    if inputs is None:
        return ()
    drawn, changed, asked = _permuted(rows, inputs)
    right = truth[drawn]
    spread = float(((right - right.mean()) ** 2).sum())
    if not spread:
        return ()
    squares = [(each - right) ** 2 for each in np.split(answer(asked), 1 + len(changed))]
    return tuple(
        NumberInputShare(
            name=name,
            kind=_kind(name, inputs),
            rows=len(drawn),
            r2=1 - float(squares[0].sum()) / spread,
            r2_without=1 - float(without.sum()) / spread,
            gain=difference_in_r2(squares[0], without, right, seed=SEED, resamples=resamples),
        )
        for name, without in zip(changed, squares[1:], strict=True)
    )


def _permuted(rows: Sequence[str], inputs: Inputs) -> tuple[Int[np.ndarray, " drawn"], list[str], list[str]]:
    """Draw rows. Return their numbers, the names of the inputs, and the rows: as they are, then with each permuted."""
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
    asked = [*(rows[i] for i in drawn), *(row for found in changed.values() for row in found)]
    return drawn, list(changed), asked


def _kind(name: str, inputs: Inputs) -> Literal["text", "column"]:
    return "text" if name in inputs.texts else "column"
