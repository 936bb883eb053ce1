"""Which text comes next: one that the model can hardly decide and that is soon read, or one that is drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse
from scipy.stats import theilslopes
from sklearn.feature_extraction.text import TfidfVectorizer

from glassformer.data.arrays import Array
from glassformer.desk.inputs_read import InputsRead
from glassformer.desk.labelling import Labelling
from glassformer.desk.store import Store
from glassformer.labels.to_label import unlike_each_other
from glassformer.prediction.answering import Answering

RANDOM_EVERY = 4
"""One text of so many is drawn at random. Its suggestion is hidden, so these texts measure the model.

They are drawn from texts that were set aside for this from the beginning. If they were drawn from what the model has
not chosen yet, easy texts would be left, and the model would seem better than it is.
"""

_CHOSEN, _POOL = 200, 3  # so many texts are put in order, out of so many times as many

ASIDE_BELOW = 1 / RANDOM_EVERY
"""Texts with a lower draw are set aside for measuring."""
_ASIDE = f"t.draw < {ASIDE_BELOW}"  # draws are uniform in 0 to 1
_MEASURING = f"SELECT t.id FROM texts t WHERE t.decision IS NULL AND t.id <> ? AND {_ASIDE} ORDER BY t.draw LIMIT 1"
_ANY = "SELECT t.id FROM texts t WHERE t.decision IS NULL AND t.id <> ? ORDER BY t.draw DESC LIMIT 1"
_CHOSEN_NEXT = (
    "SELECT t.id FROM suggestions s JOIN texts t ON t.id = s.text WHERE s.place IS NOT NULL AND t.decision IS NULL "
    "AND t.id <> ? ORDER BY s.place LIMIT 1"
)
_SKIPPED = (
    "SELECT t.id FROM current c JOIN texts t ON t.id = c.text WHERE c.kind = 'skip' AND t.id <> ? AND t.id NOT IN "
    "(SELECT text FROM decisions WHERE who = ? AND undone IS NULL) ORDER BY t.draw DESC LIMIT 1"
)
_SECOND = (
    "SELECT o.text FROM opinions o JOIN texts t ON t.id = o.text WHERE o.text NOT IN (SELECT text FROM decisions WHERE "
    "who = ? AND undone IS NULL) GROUP BY o.text HAVING count(*) = 1 ORDER BY t.draw LIMIT 1"
)


def suggestions(
    predictor: Answering, texts: pl.DataFrame, labelling: Labelling, inputs: InputsRead, seconds: Array
) -> pl.DataFrame:
    """Return what a model says of each text, and which texts are most worth the time that labelling them takes.

    Texts come first whose doubt is largest for each second of reading (see `Said`). A text that is read in less than
    the median time counts as if it took that: else the shortest would come first, and they teach little. The chosen
    texts are put in an order in which each is as unlike all before it as possible (see `to_label`).

    Args:
        texts: the columns id, text, beside and draw.
        seconds: that a person will take for each text.

    Returns:
        The columns id, label, probability and place (from 0; null for a text that is not among the chosen ones).
    """
    given = inputs.asked(texts, predictor.trained.config.inputs)
    said = labelling.said(predictor.answer(given))
    worth = said.doubt / np.maximum(seconds, np.median(seconds))
    doubtful = np.argsort(-worth, kind="stable")
    doubtful = doubtful[texts["draw"].to_numpy()[doubtful] >= ASIDE_BELOW][: _POOL * _CHOSEN]
    chosen = doubtful[unlike_each_other(word_vectors([given[place] for place in doubtful]), _CHOSEN)]
    places = np.full(len(given), -1)
    places[chosen] = np.arange(len(chosen))
    return pl.DataFrame(
        {
            "id": texts["id"],
            "label": said.cells,
            "probability": pl.Series(said.sureness or [None] * len(given), dtype=pl.Float64),
            "place": pl.Series(places).replace(-1, None),
        }
    )


def next_text(store: Store, who: str, *, leaving: int | None = None) -> Mapping[str, Any] | None:
    """Return the id of the text to label next, and why (see `Decision.way`). None if all are decided.

    Texts that only other people skipped come last.

    If two people label each text (the fact `twice`), those that another person has labelled come first.

    Args:
        leaving: a text that is on the screen, and not to be shown again at once.
    """
    if store.facts.get("twice") and (text := store.value(_SECOND, who)) is not None:
        return {"id": text, "way": "second"}
    done = store.value(
        "SELECT count(DISTINCT batch) FROM decisions WHERE who = ? AND giver IS NULL AND undone IS NULL", who
    )
    has_model = store.value("SELECT count(*) FROM suggestions") > 0
    ways = {"random": _MEASURING, "unsure": _CHOSEN_NEXT, "any": _ANY}
    if not has_model or done % RANDOM_EVERY:  # what is set aside waits for a model that it can measure
        del ways["random"]
    for way, query in ways.items():
        if (text := store.value(query, leaving or 0)) is not None:
            return {"id": text, "way": way}
    skipped = store.value(_SKIPPED, leaving or 0, who)
    return None if skipped is None else {"id": skipped, "way": "any"}


def word_vectors(texts: Sequence[str]) -> sparse.csr_matrix:
    """Return the TF-IDF vectors of texts, of length 1: (texts, words). A text without a word has an empty one."""
    vectorizer = TfidfVectorizer(sublinear_tf=True, token_pattern=r"(?u)\b\w+\b")
    return vectorizer.fit_transform([*texts, "a"])[:-1]  # without a word in any text it would raise an error


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
