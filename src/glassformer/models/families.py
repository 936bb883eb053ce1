"""How the checkpoints of each family name their settings and tensors: one table per family.

The names are those of the `transformers` library. `checkpoints.py` reads by these tables, `checkpoints_out.py` writes
by them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Sources = Mapping[str, tuple[str, ...]]
"""Our module → their modules. If they have several, the rows of their weights are concatenated."""


@dataclass(frozen=True, kw_only=True)
class Family:
    """How to read and write one family.

    Attributes:
        title: the name that people use.
        since: the first version of `transformers` that has the family.
        classifier: the class of its text classifiers, as `architectures` names it.
        prefix: how the names of the encoder's tensors begin in checkpoints that have a head.
        settings: our field → (their key, its default).
        fixed: our fields with the same value in all checkpoints of the family.
        parts, block, head: where to find the weights of our modules; `{n}` is the number of the block. The names in
            `parts` and `block` have no prefix, those in `head` are complete.
        poolings: their name → ours.
        local_attention: whether tokens of some blocks attend only to near tokens.
        added_to_positions: a table whose first row means "the first of two texts" and is added to every token.
        padding_before_positions: whether the position table has unused rows at its start, up to the id of padding.
        written: further settings of the checkpoints that we write.
        special_tokens: padding, unknown, start and end; used if the tokenizer's settings do not name them.
    """

    title: str
    classifier: str
    prefix: str
    settings: Mapping[str, tuple[str, Any]]
    fixed: Mapping[str, Any]
    parts: Sources
    block: Sources
    head: Sources
    since: str = "4.0"
    poolings: Mapping[str, str] = field(default_factory=lambda: {"cls": "first", "mean": "mean"})
    local_attention: bool = False
    added_to_positions: str | None = None
    padding_before_positions: bool = False
    written: Mapping[str, Any] = field(default_factory=dict)
    special_tokens: tuple[str, str, str, str] = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


_BERT = Family(
    title="BERT",
    classifier="BertForSequenceClassification",
    prefix="bert.",
    settings={
        "d_model": ("hidden_size", 768),
        "n_layers": ("num_hidden_layers", 12),
        "n_heads": ("num_attention_heads", 12),
        "d_ff": ("intermediate_size", 3072),
        "max_seq_len": ("max_position_embeddings", 512),
        "norm_eps": ("layer_norm_eps", 1e-12),
        "activation": ("hidden_act", "gelu"),
        "dropout": ("hidden_dropout_prob", 0.1),
        "attention_dropout": ("attention_probs_dropout_prob", 0.1),
    },
    fixed={"head_activation": "tanh"},
    parts={
        "embedding": ("embeddings.word_embeddings",),
        "positions": ("embeddings.position_embeddings",),
        "embedding_norm": ("embeddings.LayerNorm",),
    },
    block={
        "attention.in_projection": (
            "encoder.layer.{n}.attention.self.query",
            "encoder.layer.{n}.attention.self.key",
            "encoder.layer.{n}.attention.self.value",
        ),
        "attention.out_projection": ("encoder.layer.{n}.attention.output.dense",),
        "attention_post_norm": ("encoder.layer.{n}.attention.output.LayerNorm",),
        "feed_forward.in_projection": ("encoder.layer.{n}.intermediate.dense",),
        "feed_forward.out_projection": ("encoder.layer.{n}.output.dense",),
        "feed_forward_post_norm": ("encoder.layer.{n}.output.LayerNorm",),
    },
    head={"head.in_projection": ("bert.pooler.dense",), "head.out_projection": ("classifier",)},
    added_to_positions="embeddings.token_type_embeddings",
    written={"type_vocab_size": 2},
)

_ROBERTA = Family(
    title="RoBERTa",
    classifier="RobertaForSequenceClassification",
    prefix="roberta.",
    settings=_BERT.settings,
    fixed=_BERT.fixed,
    parts=_BERT.parts,
    block=_BERT.block,
    head={"head.in_projection": ("classifier.dense",), "head.out_projection": ("classifier.out_proj",)},
    added_to_positions=_BERT.added_to_positions,
    padding_before_positions=True,
    written=_BERT.written,
    special_tokens=("<pad>", "<unk>", "<s>", "</s>"),
)

_DISTILBERT = Family(
    title="DistilBERT",
    classifier="DistilBertForSequenceClassification",
    prefix="distilbert.",
    settings={
        "d_model": ("dim", 768),
        "n_layers": ("n_layers", 6),
        "n_heads": ("n_heads", 12),
        "d_ff": ("hidden_dim", 3072),
        "max_seq_len": ("max_position_embeddings", 512),
        "activation": ("activation", "gelu"),
        "dropout": ("dropout", 0.1),
        "attention_dropout": ("attention_dropout", 0.1),
    },
    fixed={"norm_eps": 1e-12, "head_activation": "relu"},
    parts=_BERT.parts,
    block={
        "attention.in_projection": (
            "transformer.layer.{n}.attention.q_lin",
            "transformer.layer.{n}.attention.k_lin",
            "transformer.layer.{n}.attention.v_lin",
        ),
        "attention.out_projection": ("transformer.layer.{n}.attention.out_lin",),
        "attention_post_norm": ("transformer.layer.{n}.sa_layer_norm",),
        "feed_forward.in_projection": ("transformer.layer.{n}.ffn.lin1",),
        "feed_forward.out_projection": ("transformer.layer.{n}.ffn.lin2",),
        "feed_forward_post_norm": ("transformer.layer.{n}.output_layer_norm",),
    },
    head={"head.in_projection": ("pre_classifier",), "head.out_projection": ("classifier",)},
)

_MODERNBERT = Family(
    title="ModernBERT",
    classifier="ModernBertForSequenceClassification",
    since="4.48",
    prefix="model.",
    settings={
        "d_model": ("hidden_size", 768),
        "n_layers": ("num_hidden_layers", 22),
        "n_heads": ("num_attention_heads", 12),
        "d_ff": ("intermediate_size", 1152),
        "max_seq_len": ("max_position_embeddings", 8192),
        "norm_eps": ("norm_eps", 1e-5),
        "norm_bias": ("norm_bias", False),
        "attention_bias": ("attention_bias", False),
        "feed_forward_bias": ("mlp_bias", False),
        "activation": ("hidden_activation", "gelu"),
        "dropout": ("embedding_dropout", 0.0),
        "attention_dropout": ("attention_dropout", 0.0),
        "pooling": ("classifier_pooling", "cls"),
        "head_activation": ("classifier_activation", "gelu"),
        "head_bias": ("classifier_bias", False),
    },
    fixed={"residual": "pre-norm", "feed_forward": "gated", "positions": "rotary", "head_norm": "layer"},
    parts={
        "embedding": ("embeddings.tok_embeddings",),
        "embedding_norm": ("embeddings.norm",),
        "norm": ("final_norm",),
    },
    block={
        "attention_pre_norm": ("layers.{n}.attn_norm",),
        "attention.in_projection": ("layers.{n}.attn.Wqkv",),
        "attention.out_projection": ("layers.{n}.attn.Wo",),
        "feed_forward_pre_norm": ("layers.{n}.mlp_norm",),
        "feed_forward.in_projection": ("layers.{n}.mlp.Wi",),
        "feed_forward.out_projection": ("layers.{n}.mlp.Wo",),
    },
    head={
        "head.in_projection": ("head.dense",),
        "head.norm": ("head.norm",),
        "head.out_projection": ("classifier",),
    },
    local_attention=True,
)

_EUROBERT = Family(
    title="EuroBERT",
    classifier="EuroBertForSequenceClassification",
    since="5.3",
    prefix="model.",
    settings={
        "d_model": ("hidden_size", 768),
        "n_layers": ("num_hidden_layers", 12),
        "n_heads": ("num_attention_heads", 12),
        "d_ff": ("intermediate_size", 3072),
        "max_seq_len": ("max_position_embeddings", 8192),
        "norm_eps": ("rms_norm_eps", 1e-5),
        "attention_bias": ("attention_bias", False),
        "feed_forward_bias": ("mlp_bias", False),
        "activation": ("hidden_act", "silu"),
        "attention_dropout": ("attention_dropout", 0.0),
        "pooling": ("classifier_pooling", "late"),
    },
    fixed={
        "residual": "pre-norm",
        "norm": "rms",
        "norm_bias": False,
        "embedding_norm": False,
        "feed_forward": "gated",
        "positions": "rotary",
        "head_activation": "gelu",
    },
    parts={"embedding": ("embed_tokens",), "norm": ("norm",)},
    block={
        "attention_pre_norm": ("layers.{n}.input_layernorm",),
        "attention.in_projection": (
            "layers.{n}.self_attn.q_proj",
            "layers.{n}.self_attn.k_proj",
            "layers.{n}.self_attn.v_proj",
        ),
        "attention.out_projection": ("layers.{n}.self_attn.o_proj",),
        "feed_forward_pre_norm": ("layers.{n}.post_attention_layernorm",),
        "feed_forward.in_projection": ("layers.{n}.mlp.gate_proj", "layers.{n}.mlp.up_proj"),
        "feed_forward.out_projection": ("layers.{n}.mlp.down_proj",),
    },
    head={"head.in_projection": ("dense",), "head.out_projection": ("classifier",)},
    poolings={"bos": "first", "mean": "mean", "late": "mean"},
    written={"mask_token_id": 1},  # it must be a token of the vocabulary, and only pre-training uses it
)

FAMILIES = {
    "bert": _BERT, "distilbert": _DISTILBERT, "roberta": _ROBERTA, "modernbert": _MODERNBERT, "eurobert": _EUROBERT
}  # fmt: skip
"""The supported families by the `model_type` of their config.json."""
