import torch

from benchmarks.inside_cost import _without_taps, explained, paired
from glassformer.models.listening import taps_of
from glassformer.prediction.predictor import Predictor
from tests.prediction.samples import small_trained_model

TEXTS = ["the plot was good and the cast was bad", "bad plot"] * 2


def test_a_model_without_taps_computes_the_same_and_gets_them_back() -> None:
    model = small_trained_model().model
    taps = list(taps_of(model))
    token_ids = torch.tensor([[2, 3, 4, 5]])
    mask = torch.ones_like(token_ids, dtype=torch.bool)
    with torch.inference_mode():
        expected = model(token_ids, mask)
        with _without_taps(model):
            assert not taps_of(model)
            assert torch.equal(model(token_ids, mask), expected)
    assert sorted(taps_of(model)) == sorted(taps)


def test_the_figures_of_what_it_costs() -> None:
    predictor = Predictor(small_trained_model())
    found = explained(predictor, TEXTS)
    assert 0 < found["seconds"]["median"] <= found["seconds"]["slowest"]
    assert set(found["more_seconds"]) == {"counterfactual", "heads", "neighbours"}
    ratios = paired(predictor, TEXTS, pairs=3)
    for work in ("answers", "training_step"):
        for compared in ("with_to_without", "with_to_with"):
            assert ratios[work][compared]["low"] <= ratios[work][compared]["value"] <= ratios[work][compared]["high"]
