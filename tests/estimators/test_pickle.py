"""Fitted estimators are kept by pickle and joblib, and sent to other processes, also after use."""

import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from glassformer import TextClassifier, TextRegressor
from tests.estimators.samples import ALONE, BOTH
from tests.running import Running

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


ELSEWHERE = """
import pickle, sys
with open(sys.argv[1], "rb") as file:
    unfitted, fitted, texts, labels = pickle.load(file)
print(unfitted.fit(texts, labels).predict(texts).tolist())
print(fitted.predict_proba(texts).tolist())
"""


@pytest.mark.slow
def test_another_process_fits_and_answers(tmp_path: Path) -> None:
    unfitted = TextClassifier(**COUNTING | {"settings": BOTH | {"model.body": "none"}})
    fitted = clone(unfitted).fit(TEXTS, LABELS)
    (tmp_path / "sent").write_bytes(pickle.dumps((unfitted, fitted, TEXTS, LABELS)))
    done = Running("-c", ELSEWHERE, tmp_path / "sent", log=tmp_path / "log").outcome()
    assert done.code == 0, done.err
    assert done.out.splitlines() == [str(LABELS), str(fitted.predict_proba(TEXTS).tolist())]
