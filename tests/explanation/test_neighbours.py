import torch

from glassformer.explanation.neighbours import neighbours_of
from glassformer.models.model_config import ModelConfig
from tests.prediction.samples import SMALL, small_trained_model


def test_the_nearest_word_is_the_one_with_the_largest_cosine() -> None:
    trained = small_trained_model()
    table = trained.model.get_parameter("trunk.embedding.weight")
    words = trained.tokenizer.words()
    with torch.no_grad():
        table[words["plot"]] = 3 * table[words["thin"]]
    near = neighbours_of(trained.model, trained.tokenizer, ["Thin", "plot", "unheard"], count=2)
    assert list(near) == ["Thin", "plot"]
    assert (near["Thin"][0].word, near["Thin"][0].cosine) == ("plot", 1.0)
    assert near["plot"][0].word == "thin"
    assert [len(found) for found in near.values()] == [2, 2]
    assert near["Thin"][0].cosine >= near["Thin"][1].cosine


def test_embeddings_that_are_not_learned_have_no_neighbours() -> None:
    one_hot = ModelConfig(**SMALL.model_dump() | {"embedding": "one-hot", "d_model": 40, "positions": "none"})
    trained = small_trained_model(model=one_hot)
    assert neighbours_of(trained.model, trained.tokenizer, ["plot"], count=2) == {}
