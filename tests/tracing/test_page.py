import base64
import json
import re
from typing import Any

import numpy as np
import pytest

from glassformer.prediction.predictor import Predictor
from glassformer.tracing.exercise import MOST_BLANKS, choose_blanks
from glassformer.tracing.trace import Trace, trace
from glassformer.tracing.writing import render
from tests.explanation.test_explain import two_readers
from tests.prediction.samples import small_trained_model
from tests.tracing.test_trace import DESIGNS, KINDS, TEXT, predictor_of


def document(page: str) -> dict[str, Any]:
    """The numbers in a page."""
    found = re.search(r'<script type="application/json" id="trace-data">(.*?)</script>', page, flags=re.DOTALL)
    assert found
    numbers: dict[str, Any] = json.loads(found[1])
    return numbers


def both() -> Trace:
    return trace(Predictor(two_readers()), TEXT)


def test_the_page_holds_every_number() -> None:
    found = both()
    written = document(render(found))
    for matrix, data in zip(found, written["matrices"], strict=True):
        values = np.frombuffer(base64.b64decode(data["values"]), "<f4").reshape(data["shape"])
        np.testing.assert_array_equal(values, matrix.values)
    assert written["axes"]["tokens"] == list(found.tokens)
    stages = {data["name"]: data["stage"] for data in written["matrices"]}
    of_each = {
        "words": "embedding",
        "block": "blocks.0.attention.scores",
        "text": "pooled",
        "counting": "counting.bias",
    }
    for stage, name in (of_each | {"answer": "sum"}).items():
        assert stages[name] == stage


def test_a_step_of_ours_has_a_title_in_words() -> None:
    for make in KINDS.values():
        for data in document(render(trace(*make())))["matrices"]:
            assert data["operation"] == "weight" or data["title"] not in data["name"], data["name"]


def test_the_page_says_whose_logits_the_gradients_are_of() -> None:
    assert "Gradients are those of the transformer’s logit" in render(both())
    recurrent = render(trace(predictor_of(DESIGNS["vinh-recurrent, lstm, both"]), TEXT))
    assert "Gradients are those of the model’s logit" in recurrent
    assert "transformer" not in recurrent


def test_text_and_labels_are_shown_as_they_are() -> None:
    evil = "</script><script>alert('x')</script>"
    page = render(trace(Predictor(small_trained_model(labels=(evil, "fine", "good"))), evil))
    assert "<script>alert" not in page
    assert evil in document(page)["axes"]["classes"]


def test_a_page_has_the_parts_of_its_design() -> None:
    def parts(found: Trace) -> list[str]:
        return re.findall(r'<section id="(\w+)">', render(found))[1:]

    assert parts(both()) == ["words", "block", "text", "counting", "answer"]
    assert parts(trace(Predictor(small_trained_model()), TEXT)) == ["words", "block", "text", "answer"]
    assert parts(trace(predictor_of(DESIGNS["vinh-mlp"]), TEXT)) == ["words", "text", "answer"]
    both_ways = trace(predictor_of(DESIGNS["vinh-recurrent, lstm, both"]), TEXT)
    assert parts(both_ways) == ["words", "forwards", "backwards", "text", "answer"]
    stages = {data["name"]: data["stage"] for data in document(render(both_ways))["matrices"]}
    assert (stages["forwards.before"], stages["cell.weight_hh_l0"]) == ("forwards", "forwards")
    assert stages["cell.weight_hh_l0_reverse"] == "backwards"


def test_an_exercise_asks_for_numbers_that_can_be_computed_by_hand() -> None:
    found = both()
    blanks = choose_blanks(found)
    assert blanks == choose_blanks(found)
    assert len({blank.name for blank in blanks}) == len(blanks) == MOST_BLANKS
    assert all(np.isfinite(found[blank.name][blank.cell]) for blank in blanks)
    operations = {matrix.step.name: matrix.step.operation for matrix in found}
    assert len({operations[blank.name] for blank in blanks}) >= 6
    assert "linear" not in {operations[blank.name] for blank in blanks}  # sums of 16 products and more
    assert document(render(found, blanks))["exercise"][0]["name"] == blanks[0].name


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_has_numbers_to_compute_by_hand(design: str) -> None:
    found = trace(predictor_of(DESIGNS[design]), TEXT)
    shapes = {matrix.step.name: matrix.values.shape for matrix in found}
    blanks = choose_blanks(found)
    assert 2 <= len(blanks) <= MOST_BLANKS
    for blank in blanks:
        assert len(blank.cell) == len(shapes[blank.name])
        assert np.isfinite(found[blank.name][blank.cell])
