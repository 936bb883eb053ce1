"""From what a model makes of a definition to an embedding: a linear map, fitted on the words that it knows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from glassformer.words.context import Vectors

FEWEST_WORDS = 50
"""With fewer known words that have definitions no map is fitted."""
MOST_WORDS = 2_000
"""It is fitted on this many of them, the most frequent ones."""
_FOLDS, _HELD_OUT, _SEED = 5, 0.2, 0
_PENALTIES = np.logspace(-1, 6, 15)


@dataclass(frozen=True, kw_only=True)
class MapReport:
    """How well the map found embeddings of known words that it was not fitted on.

    Attributes:
        words: known words with a definition, all of which the map in use is fitted on.
        held_out: of these, the words that the cosines below are of; a map fitted on the others was asked for them.
        penalty: of the ridge regression, on standardised features; chosen by cross-validation over the other words.
        cosine: the mean cosine between the embedding that the map gives and the true one.
        cosine_of_average: the same for the average of the embeddings of the definition's words.
        cosine_of_mean: the same for one vector for every word, the mean of the other words' embeddings.
    """

    words: int
    held_out: int
    penalty: float
    cosine: float
    cosine_of_average: float
    cosine_of_mean: float


@dataclass(frozen=True, kw_only=True)
class EmbeddingMap:
    """Ridge regression (Hoerl & Kennard 1970) from context vectors to embeddings."""

    regression: Any
    report: MapReport

    def __call__(self, contexts: Vectors) -> Vectors:
        found: Vectors = self.regression.predict(contexts)
        return found


def fit_map(contexts: Vectors, embeddings: Vectors, averages: Vectors, definitions: Sequence[str]) -> EmbeddingMap:
    """Fit the map on known words, one row each.

    Words with one definition, synonyms and forms of a word, are held out together: otherwise it would be known.

    Args:
        contexts: (words, features) what the model makes of each definition.
        embeddings: (words, d_model) what is to be found.
        averages: (words, d_model) the average embedding of each definition's words, to compare with.
        definitions: of each word, at least `FEWEST_WORDS` of them.
    """
    groups = np.unique(np.asarray(definitions), return_inverse=True)[1]
    cut = GroupShuffleSplit(1, test_size=_HELD_OUT, random_state=_SEED).split(contexts, groups=groups)
    fitted_on, held_out = next(cut)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), Ridge()),
        {"ridge__alpha": _PENALTIES},
        scoring="neg_mean_squared_error",
        cv=GroupKFold(_FOLDS),
    )
    search.fit(contexts[fitted_on], embeddings[fitted_on], groups=groups[fitted_on])
    truth = embeddings[held_out]
    report = MapReport(
        words=len(contexts),
        held_out=len(held_out),
        penalty=float(search.best_params_["ridge__alpha"]),
        cosine=float(cosines(search.predict(contexts[held_out]), truth).mean()),
        cosine_of_average=float(cosines(averages[held_out], truth).mean()),
        cosine_of_mean=float(cosines(embeddings[fitted_on].mean(axis=0), truth).mean()),
    )
    return EmbeddingMap(regression=search.best_estimator_.fit(contexts, embeddings), report=report)


def cosines(ours: Vectors, theirs: Vectors) -> Vectors:
    """The cosine of each pair of rows; one row is compared with all; 0 where a vector is zero."""
    found: Vectors = (unit(ours) * unit(theirs)).sum(axis=-1)
    return found


def unit(vectors: Vectors) -> Vectors:
    """Each row (…, d_model) brought to length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths == 0, 1.0, lengths)
