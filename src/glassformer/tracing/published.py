"""The steps of published designs that consist of known layers."""

from __future__ import annotations

from typing import Any

from torch import nn

from glassformer.models.published.notes_decoder import NotesDecoder
from glassformer.models.published.sentiment140 import Sentiment140
from glassformer.models.published.vinh_attention import VinhAttention
from glassformer.models.published.vinh_mlp import VinhMLP
from glassformer.models.published.vinh_transformer import VinhTransformer
from glassformer.tracing.layers import Steps
from glassformer.tracing.steps import CLASSES, FEATURES, HEADS, HIDDEN, IN, OUT, TEXTS, TOKENS, TOKENS_BY_FEATURES


def sentiment140(steps: Steps, model: Sentiment140) -> None:
    """Embed → rotate → post-norm blocks → the first token → classes, of which the unused ones are left out."""
    x = steps.add(
        "rotate", "rotation", (steps.embedding(model.embedding), *steps.angles(model.rotation)), TOKENS_BY_FEATURES
    )
    for number, block in enumerate(model.blocks):
        x = _sentiment140_block(steps, f"blocks.{number}", block, x)
    pooled = steps.add("pick", "pooled", (x,), (FEATURES,), row="first")
    logits = steps.linear(model.classifier, pooled, axes=(HIDDEN,))
    steps.add("columns", "logits", (logits,), (CLASSES,), columns=model.n_classes, skipped=0)


def _sentiment140_block(steps: Steps, at: str, block: Any, x: str) -> str:
    mixed = steps.attention(block.attention, x)
    x = steps.norm(block.norm1, steps.add("add", f"{at}.after_attention", (x, mixed), TOKENS_BY_FEATURES))
    before, hidden = steps.linear(block.gate, x), block.gate.out_features
    gate = steps.activation(nn.functional.sigmoid, f"{at}.activation", before, (TOKENS, HIDDEN), columns=hidden)
    inner = steps.add("product", f"{at}.product", (steps.linear(block.value, x), gate), (TOKENS, HIDDEN))
    moved = steps.linear(block.out, inner, axes=TOKENS_BY_FEATURES)
    return steps.norm(block.norm2, steps.add("add", f"{at}.after_feed_forward", (x, moved), TOKENS_BY_FEATURES))


def notes_decoder(steps: Steps, model: NotesDecoder) -> None:
    """Embed + positions → pre-norm blocks with separate heads → norm → classes at each token → their mean."""
    steps.fix_length(model.length)
    words = steps.embedding(model.embedding)
    x = steps.add(
        "add", "positioned", (words, steps.weight(model, "positions", TOKENS_BY_FEATURES)), TOKENS_BY_FEATURES
    )
    for number, block in enumerate(model.blocks):
        x = _notes_block(steps, f"blocks.{number}", block, x)
    x = steps.linear(model.final_linear, steps.norm(model.final_layernorm, x), axes=(TOKENS, CLASSES))
    steps.add("mean", "logits", (x,), (CLASSES,))


def _notes_block(steps: Steps, at: str, block: Any, x: str) -> str:
    normed = steps.norm(block.layernorm1, x)
    heads = tuple(_notes_head(steps, steps.paths[head], head, normed) for head in block.heads)
    joined = steps.add("beside", f"{at}.joined", heads, TOKENS_BY_FEATURES)
    mixed = steps.linear(block.projection[0], joined, axes=TOKENS_BY_FEATURES)
    x = steps.add("add", f"{at}.after_attention", (x, mixed), TOKENS_BY_FEATURES)
    first, relu, last = block.feedforward[:3]
    inner = steps.linear(first, steps.norm(block.layernorm2, x))
    inner = steps.activation(nn.functional.relu, steps.paths[relu], inner, (TOKENS, HIDDEN), columns=first.out_features)
    moved = steps.linear(last, inner, axes=TOKENS_BY_FEATURES)
    return steps.add("add", f"{at}.after_feed_forward", (x, moved), TOKENS_BY_FEATURES)


def _notes_head(steps: Steps, at: str, head: Any, x: str) -> str:
    query, key, value = (
        steps.linear(layer, x, axes=TOKENS_BY_FEATURES) for layer in (head.query, head.key, head.value)
    )
    pattern, square = "causal" if head.is_decoder else "full", (TOKENS, TOKENS)
    width = head.key.out_features
    scores = steps.add("scores", f"{at}.scores", (query, key), square, head_dim=width, pattern=pattern)
    weights = steps.add("softmax", f"{at}.weights", (scores,), square)
    return steps.add("mix", at, (weights, value), TOKENS_BY_FEATURES)


def vinh_mlp(steps: Steps, model: VinhMLP) -> None:
    """Embed → flatten → linear."""
    steps.fix_length(model.length)
    _flattened(steps, steps.embedding(model.embedding), model.fc)


def vinh_attention(steps: Steps, model: VinhAttention) -> None:
    """Embed → attend → flatten → linear. As printed, it flattens the embeddings, and attention goes nowhere."""
    steps.fix_length(model.length)
    words = steps.embedding(model.word_emb, "word_emb")
    width = model.word_emb.embedding_dim
    square = (TOKENS, TOKENS)
    scores = steps.add("scores", "scores", (words, words), square, head_dim=width, pattern="full")
    weights = steps.add("softmax", "weights", (scores,), square)
    attention = steps.add("mix", "attention", (weights, words), TOKENS_BY_FEATURES)
    _flattened(steps, attention if model.flattens == "attention" else words, model.fc)


def vinh_transformer(steps: Steps, model: VinhTransformer) -> None:
    """Embed + positions → attention between texts → linear → mean → linear. A text alone attends to itself."""
    steps.fix_length(model.length)
    words = steps.embedding(model.word_emb, "word_emb")
    positions = steps.weight(model.pos_emb, "weight", TOKENS_BY_FEATURES)
    x = steps.add("add", "positioned", (words, positions), TOKENS_BY_FEATURES)
    mixed = _between_texts(steps, model.attn, x)
    x = steps.norm(model.layernorm_1, steps.add("add", "after_attention", (x, mixed), TOKENS_BY_FEATURES))
    moved = steps.linear(model.ffn, x, axes=TOKENS_BY_FEATURES)
    x = steps.norm(model.layernorm_2, steps.add("add", "after_feed_forward", (x, moved), TOKENS_BY_FEATURES))
    logits = steps.linear(model.fc, steps.add("mean", "average", (x,), (FEATURES,)), axes=(CLASSES,))
    steps.add("same", "logits", (logits,), (CLASSES,))


def _between_texts(steps: Steps, attn: nn.MultiheadAttention, x: str) -> str:
    at, by_heads, by_texts = "between_texts", (HEADS, TOKENS, FEATURES), (HEADS, TOKENS, TEXTS)
    inputs = (x, steps.weight(attn, "in_proj_weight", (OUT, IN)), steps.weight(attn, "in_proj_bias", (OUT,)))
    projected = steps.add("linear-with-bias", f"{at}.projected", inputs, (TOKENS, HIDDEN))
    width = attn.head_dim
    query, key, value = (
        steps.add("head", f"{at}.{name}", (projected,), by_heads, part=part, head_dim=width)
        for part, name in enumerate(("query", "key", "value"))
    )
    scores = steps.add("scores-of-texts", f"{at}.scores", (query, key), by_texts, head_dim=width)
    weights = steps.add("softmax", f"{at}.weights", (scores,), by_texts)
    heads = steps.add("product", f"{at}.heads", (weights, value), by_heads)
    joined = steps.add("join", f"{at}.joined", (heads,), TOKENS_BY_FEATURES)
    return steps.linear(attn.out_proj, joined, name=f"{at}.output", axes=TOKENS_BY_FEATURES)


def _flattened(steps: Steps, x: str, layer: nn.Linear) -> None:
    steps.linear(layer, steps.add("flatten", "flattened", (x,), (FEATURES,)), axes=(CLASSES,))
    steps.add("same", "logits", (steps.paths[layer],), (CLASSES,))
