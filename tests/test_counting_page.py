"""docs/how-it-works/counting.md: what it says of the readers is what a model trained by its recipe answers."""

import re
from pathlib import Path

import numpy as np
import pytest

from glassformer.data import polarity
from glassformer.data.sources import Sources
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.target import labels_of
from glassformer.training.recipe import load_recipe
from glassformer.training.run import train_model
from tests.bodies import ENGLISH

PAGE = (Path(__file__).parent.parent / "docs" / "how-it-works" / "counting.md").read_text(encoding="utf-8")
TUTORIAL = (Path(__file__).parent.parent / "docs" / "tutorial" / "index.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_texts_that_only_the_transformer_gets_right() -> None:
    recipe = load_recipe(
        "polarity", overrides={"model.body": str(ENGLISH), "training.epochs": 4}
    )  # a third teach as much
    trained = train_model(Sources(train=polarity.generate("train")), recipe)
    table = PAGE.split("| text | label | counting | transformer |")[1]  # the first of two
    rows = re.findall(r"^\| (.+?) \| (\w+) \| (\w+) \| (\w+) \|$", table, flags=re.MULTILINE)
    assert len(rows) >= 3
    texts = [row[0] for row in rows]
    predictor = Predictor(trained)
    assert trained.counting is not None
    names = labels_of(trained.config.target).labels
    answered = zip(trained.counting.scores(texts), predictor.alone("transformer", texts), strict=True)
    found = [(names[counting.argmax()], names[transformer.argmax()]) for counting, transformer in answered]
    assert found == [(counting, transformer) for _, _, counting, transformer in rows]
    assert predictor.answer(texts).predictions() == [row[1] for row in rows]

    test = polarity.generate("test").frame
    texts, labels = test["text"].to_list(), [names.index(label) for label in test["label"]]
    assert 0.5 < np.mean(trained.counting.scores(texts).argmax(axis=1) == labels) < 0.7  # "about four of ten"
    assert np.mean(predictor.alone("transformer", texts).argmax(axis=1) == labels) > 0.98
    alone = re.findall(r"counting alone (\S+), the body alone (\S+), the transformer alone (\S+),", TUTORIAL)
    readers = trained.metrics["readers"]
    expected = [readers[f"{name}_accuracy"] for name in ("counting", "body", "transformer")]
    assert [float(figure) for figure in alone[0]] == pytest.approx(expected, abs=0.02)
