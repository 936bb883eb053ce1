import numpy as np
import pytest
import torch

from glassformer.models.classifier import Classifier
from glassformer.models.model_config import ModelConfig
from glassformer.words.learners import context_vectors
from tests.support import randomise
from tests.words.samples import SHAPE

ROWS = [np.array(ids) for ids in ([4, 5, 6], [7], [9, 8, 3, 3, 10])]


def model(config: ModelConfig = SHAPE) -> Classifier:
    return randomise(Classifier(config, vocab_size=11, n_classes=3)).eval()


def table(classifier: Classifier) -> torch.Tensor:
    return classifier.get_parameter("trunk.embedding.weight").detach()


@pytest.mark.parametrize("residual", ["pre-norm", "post-norm"])
def test_it_is_the_mean_of_the_last_hidden_states_without_the_start(residual: str) -> None:
    classifier = model(SHAPE.model_validate(SHAPE.model_dump() | {"residual": residual}))
    found = context_vectors(classifier.trunk, ROWS, table(classifier), max_seq_len=16)
    assert found.shape == (3, 12)
    for ids, vector in zip(ROWS, found, strict=True):
        alone = torch.tensor([[2, *ids]])  # 2 is the start token; no padding
        hidden = classifier.trunk.read(alone, torch.ones_like(alone, dtype=torch.bool))
        torch.testing.assert_close(torch.from_numpy(vector).float(), hidden[0, 1:].mean(dim=0))


def test_it_reads_with_the_table_that_is_given() -> None:
    classifier = model()
    before = table(classifier).clone()
    extra = torch.randn(1, 12)
    rows = [np.array([4, 11, 6]), np.array([4, 5])]
    found = context_vectors(classifier.trunk, rows, torch.cat([before, extra]), max_seq_len=16)
    assert torch.equal(table(classifier), before)
    changed = before.clone()
    changed[5] = extra
    same = context_vectors(classifier.trunk, [np.array([4, 5, 6])], changed, max_seq_len=16)
    np.testing.assert_array_equal(found[:1], same)


def test_an_empty_row_and_one_longer_than_the_window() -> None:
    classifier = model()
    long = np.array([4, 5, 6, 7, 8] * 9)
    found = context_vectors(classifier.trunk, [long, np.array([], dtype=np.int64)], table(classifier), max_seq_len=16)
    assert np.isfinite(found).all()
    assert not found[1].any()
    assert found[0].any()
