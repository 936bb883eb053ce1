"""How many seconds a person takes for a text, by its length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import theilslopes

from glassformer.data.arrays import Array
from glassformer.desk.store import Store

_SECONDS, _PER_CHARACTER = 3.0, 60 / (238 * 6)  # 238 English words a minute (Brysbaert 2019), of six characters each
_FEWEST, _LATEST = 30, 500  # decisions that are looked at
_SHORTEST, _LONGEST = 0.3, 300.0  # seconds: a twin of the text before, and a pause
_ONE_BY_ONE = (
    "SELECT characters, seconds FROM (SELECT d.id, length(t.text) + "
    "coalesce((SELECT sum(length(value)) FROM json_each(t.beside)), 0) AS characters, "
    "86400 * (julianday(d.at) - julianday(lag(d.at) OVER (PARTITION BY d.who ORDER BY d.id))) AS seconds "
    "FROM decisions d JOIN texts t ON t.id = d.text WHERE d.way IN ('random', 'unsure', 'any', 'second')) "
    f"WHERE seconds BETWEEN {_SHORTEST} AND {_LONGEST} ORDER BY id DESC LIMIT {_LATEST}"
)


def expected_seconds(store: Store, lengths: Sequence[int]) -> Array:
    """Return how long the people of a project will take for texts of so many characters.

    The time from one decision to the next is a straight line of the length of the text, by the medians of Theil (1950)
    and Sen (1968). The first texts are expected to take as long as a reader of English takes.
    """
    known = np.array([tuple(row) for row in store.rows(_ONE_BY_ONE)]).reshape(-1, 2)
    first, slope = _SECONDS, _PER_CHARACTER
    if len(known) >= _FEWEST:
        line = theilslopes(known[:, 1], known[:, 0]) if len(set(known[:, 0])) > 1 else None
        slope = 0.0 if line is None else max(0.0, line.slope)
        first = np.median(known[:, 1] - slope * known[:, 0])
    return np.maximum(first + slope * np.asarray(lengths), _SHORTEST)
