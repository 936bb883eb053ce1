from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.errors import GlassformerError, UsageError
from glassformer.models.checkpoints import Checkpoint
from glassformer.models.families import FAMILIES
from glassformer.models.pretrained import PretrainedConfig, PretrainedEncoder
from tests.checkpoints import build

MODERN = {"model_type": "modernbert", "num_hidden_layers": 7}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_s_own_sizes_where_a_checkpoint_names_none(family: str) -> None:
    config = Checkpoint({"model_type": family, "pad_token_id": 1}, "x").config
    assert config.d_model == 768
    assert config.max_seq_len == {"roberta": 510, "modernbert": 8192, "eurobert": 8192}.get(family, 512)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_table_has_every_module_of_the_encoder_and_no_other(family: str) -> None:
    table, config = FAMILIES[family], Checkpoint({"model_type": family}, "x").config
    with torch.device("meta"):
        names = PretrainedEncoder(config, 9, 2).state_dict()
    modules = {name.rpartition(".")[0] for name in names}
    last = {f"blocks.{config.n_layers - 1}.{part}" for part in table.block}
    assert last <= modules
    assert modules - {name for name in modules if name.startswith("blocks.")} == {*table.parts, *table.head}


def test_both_spellings_of_modernbert_s_settings() -> None:
    old = MODERN | {"global_attn_every_n_layers": 2, "global_rope_theta": 9000.0, "local_rope_theta": 80.0}
    new = MODERN | {
        "layer_types": [("full_attention", "sliding_attention")[n % 2] for n in range(7)],
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 9000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 80.0},
        },
    }
    assert Checkpoint(old, "x").config == Checkpoint(new, "x").config
    assert Checkpoint(old, "x").config.local_blocks == (1, 3, 5)
    assert (Checkpoint(old, "x").config.rotary_base, Checkpoint(old, "x").config.local_rotary_base) == (9000.0, 80.0)
    assert Checkpoint(MODERN, "x").config.local_blocks == (1, 2, 4, 5)
    assert Checkpoint(MODERN, "x").config.local_reach == 64


def test_both_spellings_of_eurobert_s_rotary_base() -> None:
    old, new = {"rope_theta": 9000.0}, {"rope_parameters": {"rope_type": "default", "rope_theta": 9000.0}}
    assert [Checkpoint({"model_type": "eurobert"} | raw, "x").config.rotary_base for raw in (old, new, {})] == [
        9e3,
        9e3,
        1e4,
    ]


def test_a_new_head_of_eurobert_reads_the_mean_whatever_the_old_one_read() -> None:
    assert Checkpoint({"model_type": "eurobert", "classifier_pooling": "late"}, "x").config.pooling == "mean"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"model_type": "gpt2"}, ["'gpt2'", "bert, distilbert, roberta, modernbert, eurobert"]),
        ({}, ["no model_type"]),
        ({"model_type": "bert", "quantization_config": {"bits": 4}}, ["quantised"]),
        ({"model_type": "bert", "position_embedding_type": "relative_key"}, ["relative_key"]),
        ({"model_type": "bert", "is_decoder": True}, ["is_decoder"]),
        ({"model_type": "bert", "hidden_act": "mish"}, ["hidden_act", "'mish'"]),
        ({"model_type": "bert", "hidden_size": 10, "num_attention_heads": 3}, ["n_heads=3"]),
        ({"model_type": "bert", "hidden_size": "wide"}, ["d_model"]),
        ({"model_type": "roberta", "max_position_embeddings": "long"}, ["damaged"]),
        ({"model_type": ["bert"]}, ["['bert']"]),
        (MODERN | {"global_attn_every_n_layers": 0}, ["global_attn_every_n_layers is 0"]),
        (MODERN | {"global_attn_every_n_layers": None}, ["damaged"]),
        (MODERN | {"layer_types": ["full_attention"] * 6 + ["linear"]}, ["each of the 7 layers", "'linear'"]),
        (MODERN | {"layer_types": ["sliding_attention"] * 6}, ["each of the 7 layers"]),
        (MODERN | {"layer_types": 7}, ["damaged"]),
        (MODERN | {"rope_parameters": {"full_attention": {"rope_type": "yarn"}}}, ["'yarn'"]),
        ({"model_type": "eurobert", "rope_parameters": {"rope_type": "yarn"}}, ["'yarn'"]),
        ({"model_type": "eurobert", "architectures": ["EuroBertForSequenceClassification"]}, ["'late'", "classifiers"]),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_refused_in_words(raw: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        _ = Checkpoint(raw, "--init hf:x").config
    assert all(word in str(caught.value) for word in ["--init hf:x", *words])


def read(raw: dict[str, Any], tensors: dict[str, Tensor], tokens: list[int]) -> dict[str, Tensor]:
    return Checkpoint(raw, "x").weights(tensors, tokens)


def bert() -> tuple[dict[str, Any], dict[str, Tensor], list[int]]:
    model = build("bert")
    return model.config.to_dict(), model.state_dict(), list(range(30))


def test_a_missing_tensor_is_named() -> None:
    raw, tensors, tokens = bert()
    del tensors["bert.encoder.layer.3.attention.self.key.bias"]
    with pytest.raises(GlassformerError, match=r"encoder\.layer\.3\.attention\.self\.key\.bias is missing"):
        read(raw, tensors, tokens)


@pytest.mark.parametrize(
    "name", ["bert.encoder.layer.1.output.dense.weight", "bert.embeddings.position_embeddings.weight"]
)
def test_a_tensor_of_another_shape_is_named(name: str) -> None:
    raw, tensors, tokens = bert()
    tensors[name] = tensors[name][:-1]
    with pytest.raises(GlassformerError, match=rf"{name.removeprefix('bert.').removesuffix('.weight')} is \("):
        read(raw, tensors, tokens)


def test_more_tokens_than_embeddings() -> None:
    raw, tensors, _ = bert()
    with pytest.raises(GlassformerError, match="numbers its tokens up to 5000"):
        read(raw, tensors, [0, 5000])


def test_whole_numbers_are_not_weights() -> None:
    raw, tensors, tokens = bert()
    name = "bert.encoder.layer.0.output.dense.weight"
    tensors[name] = tensors[name].to(torch.int8)
    with pytest.raises(UsageError, match="quantised"):
        read(raw, tensors, tokens)


def test_embeddings_are_put_in_the_order_of_our_ids() -> None:
    raw, tensors, _ = bert()
    weights = read(raw, tensors, [7, 2, 5])
    assert torch.equal(weights["embedding.weight"], tensors["bert.embeddings.word_embeddings.weight"][[7, 2, 5]])
    assert isinstance(Checkpoint(raw, "x").config, PretrainedConfig)
