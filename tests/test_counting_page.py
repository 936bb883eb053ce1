"""docs/counting.md: what it says of both readers is what a model trained by its recipe answers."""

import re
from pathlib import Path

import pytest

from glassformer.data import polarity
from glassformer.data.sources import Sources
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import load_recipe
from glassformer.training.run import train_classifier

PAGE = (Path(__file__).parent.parent / "docs" / "counting.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_texts_that_only_the_transformer_gets_right() -> None:
    trained = train_classifier(Sources(train=polarity.generate("train")), load_recipe("polarity"))
    table = PAGE.split("| text | label | counting | transformer |")[1]  # the first of two
    rows = re.findall(r"^\| (.+?) \| (\w+) \| (\w+) \| (\w+) \|$", table, flags=re.MULTILINE)
    assert len(rows) >= 3
    texts = [row[0] for row in rows]
    predictor = Predictor(trained)
    assert trained.counting is not None
    names = trained.config.labels
    answered = zip(trained.counting.logits(texts), predictor.transformer_logits(texts), strict=True)
    found = [(names[counting.argmax()], names[transformer.argmax()]) for counting, transformer in answered]
    assert found == [(counting, transformer) for _, _, counting, transformer in rows]
    assert predictor.answer(texts).predictions() == [row[1] for row in rows]
