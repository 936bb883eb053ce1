"""Fitted estimators are kept by pickle and joblib, and sent to other processes, also after use."""

import os
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV

from glassformer import TextClassifier, TextRegressor
from tests import running
from tests.estimators.samples import ALONE, BOTH

TEXTS = [f"{word} film {number}" for number in range(12) for word in ("good", "bad", "fine", "dull")]
LABELS, NUMBERS = [1, 0] * 24, [4.5, 1.0, 4.0, 1.5] * 12
COUNTING: dict[str, Any] = {"preset": "tiny", "epochs": 0, "settings": BOTH}
TRANSFORMER: dict[str, Any] = {"preset": "tiny", "epochs": 1, "settings": ALONE}


@pytest.mark.parametrize("how", [COUNTING, TRANSFORMER], ids=["counting", "transformer"])
@pytest.mark.parametrize("kind", [TextClassifier, TextRegressor])
def test_an_estimator_is_kept_after_it_answered_and_explained(kind: Any, how: dict[str, Any], tmp_path: Path) -> None:
    numbers = kind is TextRegressor
    estimator = kind(**how).fit(TEXTS, NUMBERS if numbers else LABELS)
    answers, why = estimator.predict(TEXTS), estimator.explain("good film")
    if not numbers:
        estimator.reader_margins(TEXTS)
    joblib.dump(estimator, tmp_path / "estimator.joblib")
    for again in (pickle.loads(pickle.dumps(estimator)), joblib.load(tmp_path / "estimator.joblib")):
        assert np.array_equal(again.predict(TEXTS), answers)
        assert again.explain("good film").words == why.words


@pytest.mark.parametrize("how", [COUNTING, TRANSFORMER], ids=["counting", "transformer"])
def test_a_classifier_is_kept_after_it_searched_its_training_texts(how: dict[str, Any]) -> None:
    classifier = TextClassifier(**how, keep_texts=True).fit(TEXTS, LABELS)
    found = classifier.explain("good film", nearest=True).nearest
    assert found is not None
    assert pickle.loads(pickle.dumps(classifier)).explain("good film", nearest=True).nearest == found


@pytest.mark.slow
def test_two_processes_search_a_grid_and_another_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """joblib forks them from a process that has imported torch: those that it starts itself take seconds."""
    monkeypatch.setattr("joblib.parallel.DEFAULT_MP_CONTEXT", running.SERVER)
    unfitted = TextClassifier(**COUNTING | {"settings": BOTH | {"model.body": "none"}})
    with joblib.parallel_config(backend="multiprocessing"):
        grid = GridSearchCV(unfitted, {"random_state": [1]}, cv=2, n_jobs=2).fit(TEXTS, LABELS)
        ((process, answers),) = Parallel(n_jobs=2)([delayed(_answers)(grid.best_estimator_)])
    assert grid.best_score_ == 1
    assert process != os.getpid()
    assert np.array_equal(answers, grid.predict_proba(TEXTS))


def _answers(fitted: TextClassifier) -> tuple[int, Any]:
    return os.getpid(), fitted.predict_proba(TEXTS)
