"""Writing is the reverse of reading, for every family; tests/exporting reads what is written with `transformers`."""

from typing import Any

import pytest
import torch

from glassformer.errors import UsageError
from glassformer.models.checkpoints import Checkpoint
from glassformer.models.checkpoints_out import write_config, write_weights
from glassformer.models.families import FAMILIES
from glassformer.models.pretrained import PretrainedConfig, PretrainedEncoder
from tests.support import randomise

SMALL: dict[str, dict[str, Any]] = {
    "bert": {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 10,
             "max_position_embeddings": 9, "hidden_act": "gelu_new", "layer_norm_eps": 1e-3},
    "distilbert": {"dim": 12, "n_layers": 2, "n_heads": 3, "hidden_dim": 10, "max_position_embeddings": 9},
    "modernbert": {"hidden_size": 12, "num_hidden_layers": 4, "num_attention_heads": 3, "intermediate_size": 10,
                   "max_position_embeddings": 9, "norm_bias": True, "mlp_bias": True, "attention_bias": True,
                   "local_attention": 6, "global_rope_theta": 50.0, "classifier_pooling": "mean"},
    "eurobert": {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 10,
                 "max_position_embeddings": 9, "classifier_pooling": "bos", "rope_theta": 50.0},
}  # fmt: skip
SMALL["roberta"] = SMALL["bert"] | {"pad_token_id": 0}


def small(family: str) -> PretrainedConfig:
    return Checkpoint({"model_type": family} | SMALL[family], "x").config


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_written_is_read_back(family: str) -> None:
    config = small(family)
    raw = write_config(config, FAMILIES[family].special_tokens[2])
    assert raw["model_type"] == family
    assert raw["architectures"] == [FAMILIES[family].classifier]
    assert Checkpoint(raw, "x").config == config.model_copy(update=dropout_of(family))
    weights = randomise(PretrainedEncoder(config, 7, 2)).state_dict()
    again = Checkpoint(raw, "x").weights(write_weights(config, raw, weights), range(7))
    assert again.keys() == weights.keys()
    assert all(torch.equal(again[name], weights[name]) for name in weights)


def dropout_of(family: str) -> dict[str, float]:
    """What a family reads that says nothing of its dropout, as EuroBERT."""
    return {"dropout": 0.1} if family == "eurobert" else {}


def test_the_start_token_tells_roberta_from_bert() -> None:
    assert write_config(small("bert"), "[CLS]")["model_type"] == "bert"
    assert write_config(small("bert"), "<s>")["model_type"] == "roberta"
    assert write_config(small("bert"), "<cls>")["model_type"] == "bert"
    assert write_config(small("modernbert"), "<s>")["model_type"] == "modernbert"


@pytest.mark.parametrize(
    "changes",
    [{"activation": "sigmoid", "norm_bias": False}, {"local_blocks": (1,)}, {"embedding_norm": False}, {"norm": "rms"}],
    ids=str,
)
def test_a_shape_of_no_family_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=r"no family.*BERT.*EuroBERT"):
        write_config(small("bert").model_copy(update=changes), "[CLS]")
