import numpy as np
import pytest

from glassformer.explanation.explain import passages_of
from glassformer.explanation.question import Question
from glassformer.prediction.predictor import Predictor
from tests.prediction.samples import small_trained_model

LONG = "The plot is thin, but i loved it and would not see it again at all. " * 3


def test_the_margin_is_the_mean_of_those_of_the_passages() -> None:
    predictor = Predictor(small_trained_model(temperature=1.5))
    question = Question.ask(predictor, LONG)
    passages = passages_of(question)
    assert len(passages) > 1
    assert np.mean([passage.margin for passage in passages]) == pytest.approx(question.margins([LONG])[0], abs=1e-5)
    assert (passages[0].start, passages[-1].end) == (0, len(LONG.rstrip()))
    alone = question.margins([LONG[passage.start : passage.end] for passage in passages])
    assert [passage.margin for passage in passages] == pytest.approx(alone.tolist(), abs=1e-5)


def test_a_text_that_is_read_at_once_has_no_passages() -> None:
    assert passages_of(Question.ask(Predictor(small_trained_model()), "the plot is thin")) == ()
