"""What each input of a row gives: what the leading figure loses if its values change places between the rows."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from glassformer.data.inputs import Inputs, with_parts
from glassformer.evaluation.measured import Answer, MeasuredRows
from glassformer.evaluation.weak_spots import InputShare

MOST_ROWS = 2_000
SEED = 0


def input_shares(answer: Answer, rows: MeasuredRows, inputs: Inputs) -> tuple[InputShare, ...]:
    """Permute the values of each input among the rows, and measure how much that costs (Breiman 2001, §10).

    The rows keep their other inputs. At most `MOST_ROWS` rows are drawn at random.
    """
    drawn, changed, asked = _permuted(rows.texts, inputs)
    answers, *others = np.split(answer(asked), 1 + len(changed))
    found = [
        rows.input_share(
            drawn, answers, without, SEED, name=name, kind="text" if name in inputs.texts else "column", rows=len(drawn)
        )
        for name, without in zip(changed, others, strict=True)
    ]
    return tuple(each for each in found if each is not None)


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
