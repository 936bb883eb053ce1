"""A linear map from the context vector of a definition to an embedding, fitted on words that the model knows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, GroupShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from glassformer.data.arrays import DoubleArray, unit

Vectors = DoubleArray
FEWEST_WORDS = 50
"""The fewest known words with definitions for which a map is fitted."""
MOST_WORDS = 2_000
"""The most words that a map is fitted on. The most frequent ones are taken."""
_FOLDS, _HELD_OUT, _SEED = 5, 0.2, 0
_PENALTIES = np.logspace(-1, 6, 15)


@dataclass(frozen=True, kw_only=True)
class MapReport:
    """How well a map predicts the embeddings of known words that it was not fitted on.

    Attributes:
        words: the number of known words with a definition. The map in use is fitted on all of them.
        held_out: the number of these words that the cosines below are measured on, with a map fitted on the others.
        penalty: the penalty of the ridge regression on standardised features, chosen by cross-validation on the words
            that are not held out.
        cosine: the mean cosine between the embedding that the map gives and the true one.
        cosine_of_average: the same for the average of the embeddings of the definition's words.
        cosine_of_mean: the same for a constant vector: the mean embedding of the words that are not held out.
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
        return self.regression.predict(contexts)


def fit_map(contexts: Vectors, embeddings: Vectors, averages: Vectors, definitions: Sequence[str]) -> EmbeddingMap:
    """Fit the map on known words. Each argument has one row or entry per word.

    Words with the same definition (synonyms, forms of a word) are held out together. Otherwise the map would be
    measured on definitions that it was fitted on.

    Args:
        contexts: the context vector of each definition (words, features).
        embeddings: the embeddings to predict (words, d_model).
        averages: the average embedding of each definition's words (words, d_model), for comparison.
        definitions: the definitions; at least `FEWEST_WORDS` different ones.
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
    """Return the cosine of each pair of rows. A single vector is compared with all rows. A zero vector gives 0."""
    return (unit(ours) * unit(theirs)).sum(axis=-1)
