import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from glassformer.layers.cache import KeyValueCache
from glassformer.layers.masks import documents_to_mask
from glassformer.models.language_model import LanguageModel
from glassformer.models.model_config import LanguageModelConfig
from tests.support import double_precision, randomise, right_padded

VOCAB_SIZE, WINDOW = 13, 9
POSITIONS = pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned", "rotary", "rotary-on-embeddings"])


def language_model(**values: Any) -> LanguageModel:
    """In float64, with no weight at its starting value."""
    sizes: dict[str, Any] = {"d_model": 12, "n_layers": 2, "n_heads": 3, "d_ff": 10, "max_seq_len": WINDOW}
    with double_precision():
        model = LanguageModel(LanguageModelConfig.model_validate(sizes | values), VOCAB_SIZE)
        return randomise(model, std=0.4).eval()


def caches(model: LanguageModel, batch: int) -> list[KeyValueCache]:
    return [KeyValueCache(batch, WINDOW, torch.device("cpu")) for _ in model.trunk.blocks]


def test_before_training_every_token_is_about_equally_likely() -> None:
    model = LanguageModel(LanguageModelConfig(), 500).eval()
    token_ids = torch.randint(500, (3, 20))
    loss = torch.nn.functional.cross_entropy(
        model(token_ids, torch.ones_like(token_ids, dtype=torch.bool)).flatten(0, 1), torch.randint(500, (60,))
    )
    assert loss.item() == pytest.approx(math.log(500), abs=0.1)


def test_the_head_is_the_embedding() -> None:
    model = language_model()
    assert sorted(name for name in dict(model.named_parameters()) if not name.startswith("trunk.blocks.")) == [
        "trunk.embedding.weight",
        "trunk.norm.weight",
    ]
    token_ids, mask = torch.randint(VOCAB_SIZE, (2, 5)), right_padded([5, 3])
    expected = model.read(token_ids, mask) @ model.get_parameter("trunk.embedding.weight").T
    torch.testing.assert_close(model(token_ids, mask), expected)


@pytest.mark.parametrize("places", [1, 2, 3, 5, 40])
def test_tokens_added_later_change_no_other_logit_not_even_its_last_bit(places: int) -> None:
    table, hidden = torch.randn(103 + 3 + 67 + 61, 22), torch.randn(places, 22)
    before = torch.empty(places, 0)
    for size in (103, 106, 173, 234):
        model = LanguageModel(LanguageModelConfig(d_model=22, n_layers=0, n_heads=1), size, n_learned=size - 103)
        model.load_state_dict(model.state_dict() | {"trunk.embedding.weight": table[:size]})
        with torch.no_grad():
            logits = model.logits(hidden)
        assert logits.shape == (places, size)
        assert torch.equal(logits[:, : before.shape[1]], before)
        torch.testing.assert_close(logits, hidden @ table[:size].T)
        before = logits


@given(changed=st.integers(1, 6))
def test_a_causal_model_does_not_see_what_follows(changed: int) -> None:
    model, token_ids = language_model(), torch.randint(VOCAB_SIZE, (2, 7))
    other = token_ids.clone()
    other[:, changed:] = (other[:, changed:] + 1) % VOCAB_SIZE
    mask = torch.ones(2, 7, dtype=torch.bool)
    before, after = model(token_ids, mask), model(other, mask)
    torch.testing.assert_close(before[:, :changed], after[:, :changed])
    assert (before[:, changed] - after[:, changed]).abs().max() > 1e-3


@POSITIONS
def test_packed_documents_read_as_if_each_were_alone(positions: str) -> None:
    model = language_model(positions=positions)
    documents = [torch.randint(VOCAB_SIZE, (length,)) for length in (3, 5, 1)]
    packed = torch.cat(documents)[None]
    numbers = torch.tensor([[0] * 3 + [1] * 5 + [2]])
    places = torch.cat([torch.arange(len(document)) for document in documents])[None]
    found = model(packed, documents_to_mask(numbers), positions=places)
    alone = [model(document[None], torch.ones(1, len(document), dtype=torch.bool))[0] for document in documents]
    torch.testing.assert_close(found[0], torch.cat(alone))


@POSITIONS
def test_with_a_cache_as_without(positions: str) -> None:
    """Prompts of several lengths at once, then token by token."""
    model = language_model(positions=positions)
    lengths, grown = [4, 1, 6], 3
    whole = torch.randint(VOCAB_SIZE, (3, 9))
    kept = caches(model, 3)
    prompts = whole[:, :6].masked_fill(~right_padded(lengths), 0)
    found = [model.read(prompts, right_padded(lengths), caches=kept)]
    for step in range(grown):
        token = torch.stack([whole[row, length + step] for row, length in enumerate(lengths)])[:, None]
        found.append(model.read(token, torch.ones(3, 1, dtype=torch.bool), caches=kept))
    for row, length in enumerate(lengths):
        expected = model.read(whole[row : row + 1, : length + grown], torch.ones(1, length + grown, dtype=torch.bool))[
            0
        ]
        torch.testing.assert_close(found[0][row, :length], expected[:length])
        for step in range(grown):
            torch.testing.assert_close(found[1 + step][row, 0], expected[length + step])


def test_a_full_cache_is_refused() -> None:
    model = language_model()
    kept = caches(model, 1)
    model.read(torch.ones(1, WINDOW, dtype=torch.long), torch.ones(1, WINDOW, dtype=torch.bool), caches=kept)
    with pytest.raises(ValueError, match="room for 9 tokens, got a row of 10"):
        model.read(torch.ones(1, 1, dtype=torch.long), torch.ones(1, 1, dtype=torch.bool), caches=kept)


@pytest.mark.parametrize(
    ("values", "says"), [({"norm": "batch"}, "see the tokens after"), ({"embedding": "one-hot"}, "no vectors")]
)
def test_parts_that_cannot_predict_are_refused(values: dict[str, str], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        LanguageModelConfig.model_validate(values)
