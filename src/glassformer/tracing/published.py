"""The steps of the published designs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from glassformer.models.published import N_SPECIAL
from glassformer.models.published.bui_dang import BuiDangColumns, BuiDangRows
from glassformer.models.published.notes_decoder import NotesDecoder
from glassformer.models.published.sentiment140 import Sentiment140
from glassformer.models.published.vinh import VinhAttention, VinhMLP, VinhTransformer
from glassformer.models.published.vinh_recurrent import GRUSteps, LSTMSteps, RecurrentSteps, VinhRecurrent
from glassformer.tracing.layers import Steps
from glassformer.tracing.steps import (
    BACKWARDS,
    CLASSES,
    FEATURES,
    HEADS,
    HIDDEN,
    IN,
    OUT,
    TEXTS,
    TOKENS,
    TOKENS_BY_FEATURES,
    Axes,
)

_RELU = nn.functional.relu
_ROWS_BY_FEATURES = ("rows", FEATURES)


def sentiment140(steps: Steps, model: Sentiment140) -> None:
    """Embed → rotate → post-norm blocks → the first token → classes, of which the unused ones are left out."""
    x = steps.add("rotate", "rotation", (steps.embedding(model.embedding), *steps.angles(model.rotation)))
    for number, block in enumerate(model.blocks):
        x = _sentiment140_block(steps, f"blocks.{number}", block, x)
    pooled = steps.add("pick", "pooled", (x,), (FEATURES,), row="first")
    logits = steps.linear(model.classifier, pooled, axes=(HIDDEN,))
    steps.add("columns", "logits", (logits,), (CLASSES,), columns=model.n_classes, skipped=0)


def _sentiment140_block(steps: Steps, at: str, block: Any, x: str) -> str:
    mixed = steps.attention(block.attention, x)
    x = steps.norm(block.norm1, steps.add("add", f"{at}.after_attention", (x, mixed)))
    before, hidden = steps.linear(block.gate, x), block.gate.out_features
    gate = steps.activation(nn.functional.sigmoid, f"{at}.activation", before, (TOKENS, HIDDEN), columns=hidden)
    inner = steps.add("product", f"{at}.product", (steps.linear(block.value, x), gate), (TOKENS, HIDDEN))
    moved = steps.linear(block.out, inner, axes=TOKENS_BY_FEATURES)
    return steps.norm(block.norm2, steps.add("add", f"{at}.after_feed_forward", (x, moved)))


def notes_decoder(steps: Steps, model: NotesDecoder) -> None:
    """Embed + positions → pre-norm blocks with separate heads → norm → classes at each token → their mean."""
    steps.fix_length(model.length)
    words = steps.embedding(model.embedding)
    x = steps.add("add", "positioned", (words, steps.weight(model, "positions", TOKENS_BY_FEATURES)))
    for number, block in enumerate(model.blocks):
        x = _notes_block(steps, f"blocks.{number}", block, x)
    x = steps.linear(model.final_linear, steps.norm(model.final_layernorm, x), axes=(TOKENS, CLASSES))
    steps.add("mean", "logits", (x,), (CLASSES,))


def _notes_block(steps: Steps, at: str, block: Any, x: str) -> str:
    normed = steps.norm(block.layernorm1, x)
    heads = tuple(_notes_head(steps, steps.paths[head], head, normed) for head in block.heads)
    joined = steps.add("beside", f"{at}.joined", heads)
    mixed = steps.linear(block.projection[0], joined, axes=TOKENS_BY_FEATURES)
    x = steps.add("add", f"{at}.after_attention", (x, mixed))
    first, relu, last = block.feedforward[:3]
    inner = steps.linear(first, steps.norm(block.layernorm2, x))
    inner = steps.activation(_RELU, steps.paths[relu], inner, (TOKENS, HIDDEN), columns=first.out_features)
    moved = steps.linear(last, inner, axes=TOKENS_BY_FEATURES)
    return steps.add("add", f"{at}.after_feed_forward", (x, moved))


def _notes_head(steps: Steps, at: str, head: Any, x: str) -> str:
    query, key, value = (
        steps.linear(layer, x, axes=TOKENS_BY_FEATURES) for layer in (head.query, head.key, head.value)
    )
    pattern, square = "causal" if head.is_decoder else "full", (TOKENS, TOKENS)
    width = head.key.out_features
    scores = steps.add("scores", f"{at}.scores", (query, key), square, head_dim=width, pattern=pattern)
    weights = steps.add("softmax", f"{at}.weights", (scores,), square)
    return steps.add("mix", at, (weights, value))


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
    attention = steps.add("mix", "attention", (weights, words))
    _flattened(steps, attention if model.flattens == "attention" else words, model.fc)


def vinh_transformer(steps: Steps, model: VinhTransformer) -> None:
    """Embed + positions → attention between texts → linear → mean → linear. A text alone attends to itself."""
    steps.fix_length(model.length)
    words = steps.embedding(model.word_emb, "word_emb")
    positions = steps.weight(model.pos_emb, "weight", TOKENS_BY_FEATURES)
    x = steps.add("add", "positioned", (words, positions))
    mixed = _between_texts(steps, model.attn, x)
    x = steps.norm(model.layernorm_1, steps.add("add", "after_attention", (x, mixed)))
    moved = steps.linear(model.ffn, x, axes=TOKENS_BY_FEATURES)
    x = steps.norm(model.layernorm_2, steps.add("add", "after_feed_forward", (x, moved)))
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
    joined = steps.add("join", f"{at}.joined", (heads,))
    return steps.linear(attn.out_proj, joined, name=f"{at}.output", axes=TOKENS_BY_FEATURES)


def _flattened(steps: Steps, x: str, layer: nn.Linear) -> None:
    steps.linear(layer, steps.add("flatten", "flattened", (x,), (FEATURES,)), axes=(CLASSES,))
    steps.add("same", "logits", (steps.paths[layer],), (CLASSES,))


def bui_dang_rows(steps: Steps, model: BuiDangRows) -> None:
    """Rows are words: two causal heads → softmax as a norm → over positions → softmax → one weight per row."""
    steps.fix_length(model.length)
    one_hot = _one_hot(steps, model)
    words = steps.add("add", "words", (one_hot, steps.weight(model, "positions", TOKENS_BY_FEATURES)))
    heads = tuple(_bui_dang_head(steps, model, number, words) for number in range(len(model.heads)))
    joined = steps.add("beside", "joined", heads)
    attention = _product(steps, model, "attended", joined, "Wo")
    both = steps.add("beside", "attended_and_words", (attention, words))
    x = _product(steps, model, "norm_sum", both, "gamma_self", "beta_self")
    normed = steps.add("softmax", "normed", (x,))
    x = _product(steps, model, "over_positions", "Wf", normed, "bf", axes=_ROWS_BY_FEATURES)
    fed = steps.activation(_RELU, "rectified", x, _ROWS_BY_FEATURES, columns=model.Wo.shape[1])
    x = steps.add("below", "fed_and_normed", (fed, normed), _ROWS_BY_FEATURES)
    x = _product(steps, model, "rows_sum", x, "gamma_feed", "beta_feed", axes=("rows", CLASSES))
    rows = steps.add("softmax", "rows", (x,), ("rows", CLASSES))
    row = _product(steps, model, "row", "Wl", rows, "bl", axes=("rows", CLASSES))
    steps.add("pick", "logits", (row,), (CLASSES,), row="first")


def _bui_dang_head(steps: Steps, model: BuiDangRows, number: int, words: str) -> str:
    at, square = f"heads.{number}", (TOKENS, TOKENS)
    query, key, value = (
        _product(steps, model, f"{at}.{name}", words, f"W{name[0]}.{number}") for name in ("query", "key", "value")
    )
    scores = steps.add("scores", f"{at}.scores", (query, key), square, head_dim=model.length, pattern="causal")
    weights = steps.add("softmax", f"{at}.weights", (scores,), square)
    return steps.add("mix", f"{at}.mixed", (weights, value))


def bui_dang_columns(steps: Steps, model: BuiDangColumns) -> None:
    """Columns are words: attention over features → residual, z-score → feed-forward → residual, z-score."""
    steps.fix_length(model.length)
    by_words, square, by_hidden = (FEATURES, TOKENS), (FEATURES, FEATURES), (FEATURES, HIDDEN)
    columns = steps.add("transpose", "one_hot_columns", (_one_hot(steps, model),), by_words)
    words = steps.add("add", "words", (columns, steps.weight(model, "positions", by_words)), by_words)
    query, key, value = (
        _product(steps, model, name, f"W{name[0]}", words, axes=by_words) for name in ("queries", "keys", "values")
    )
    width = len(model.mask)
    scores = steps.add("scores", "scores", (query, key), square, head_dim=width, pattern="causal")
    weights = steps.add("softmax-of-columns", "weights", (scores,), square)
    mixed = steps.add("matmul", "mixed", (weights, value), by_words)
    attention = _product(steps, model, "attended", "Wo", mixed, axes=by_words)
    residual = _product(steps, model, "residual", "Wnorm_self", words, axes=by_words)
    bias = steps.weight(model, "bnorm_self", (OUT, IN))
    x = steps.add("add-with-bias", "after_attention", (attention, residual, bias), by_words)
    x = steps.add("z-score", "standardised", (x,), by_words)
    normed = _product(steps, model, "normed", x, "gamma_self", "beta_self", axes=by_hidden)
    by_class = (CLASSES, HIDDEN)
    x = _product(steps, model, "feed_forward", "Wf", normed, "bf", axes=by_class)
    fed = steps.activation(_RELU, "rectified", x, by_class, columns=len(model.Wo))
    residual = _product(steps, model, "feed_residual", "Wnorm_feed", normed, axes=by_class)
    bias = steps.weight(model, "bnorm_feed", (OUT, IN))
    x = steps.add("add-with-bias", "after_feed_forward", (fed, residual, bias), by_class)
    x = steps.add("z-score", "feed_standardised", (x,), by_class)
    column = _product(steps, model, "column", x, "gamma_feed", "beta_feed", axes=(CLASSES, OUT))
    steps.add("flatten", "logits", (column,), (CLASSES,))


def _one_hot(steps: Steps, model: BuiDangRows | BuiDangColumns) -> str:
    words = model.vocab_size - N_SPECIAL
    return steps.add("one-hot", "one_hot", ("token_ids",), first=N_SPECIAL, words=words)


def _product(
    steps: Steps,
    model: nn.Module,
    name: str,
    left: str,
    right: str,
    bias: str = "",
    *,
    axes: Axes = TOKENS_BY_FEATURES,
) -> str:
    """Add a matrix product. Its factors are matrices so far, or names of weights."""
    inputs = tuple(
        factor if factor in steps.taken else steps.weight(model, factor, (OUT, IN) if factor == left else (IN, OUT))
        for factor in (left, right)
    )
    if not bias:
        return steps.add("matmul", name, inputs, axes)
    return steps.add("matmul-with-bias", name, (*inputs, steps.weight(model, bias, (OUT, IN))), axes)


_SIGMOID, _TANH = nn.functional.sigmoid, nn.functional.tanh


def vinh_recurrent(steps: Steps, model: VinhRecurrent) -> None:
    """Embed → read token by token, in one direction or both → the last states side by side → linear."""
    x = steps.embedding(model.embedding)
    last = [
        _Reading(steps, model, reader, x).last_state()
        for reader in (model.forwards, model.backwards)
        if reader is not None
    ]
    pooled = last[0] if len(last) == 1 else steps.add("beside", "last_states", tuple(last), (HIDDEN,))
    steps.add("same", "logits", (steps.linear(model.fc, pooled, axes=(CLASSES,)),), (CLASSES,))


class _Reading:
    """The steps of one direction."""

    def __init__(self, steps: Steps, model: VinhRecurrent, reader: RecurrentSteps, embedding: str) -> None:
        self.steps, self.cell, self.reader = steps, model.cell, reader
        self.at, self.width = steps.paths[reader], model.cell.hidden_size
        self.tokens = BACKWARDS if reader.backwards else TOKENS
        self.embedding = embedding

    def last_state(self) -> str:
        x = self.embedding
        if self.reader.backwards:
            x = self.steps.add("reversed", f"{self.at}.embedding", (x,), (self.tokens, FEATURES))
        from_word = self._linear("from_word", x, "ih")
        before = self._add("previous", "before", f"{self.at}.state")
        from_state = self._linear("from_state", before, "hh")
        if isinstance(self.reader, LSTMSteps):
            self._lstm(from_word, from_state)
        elif isinstance(self.reader, GRUSteps):
            self._gru(from_word, from_state, before)
        else:
            self._gate("state", self._add("add", "both_parts", from_word, from_state), _TANH, 0)
        return self.steps.add("pick", f"{self.at}.last_state", (f"{self.at}.state",), (HIDDEN,), row="last")

    def _lstm(self, from_word: str, from_state: str) -> None:
        gates = self._add("add", "both_parts", from_word, from_state)
        input_gate = self._gate("input_gate", gates, _SIGMOID, 0)
        forget_gate = self._gate("forget_gate", gates, _SIGMOID, 1)
        candidate = self._gate("candidate", gates, _TANH, 2)
        output_gate = self._gate("output_gate", gates, _SIGMOID, 3)
        before = self._add("previous", "memory_before", f"{self.at}.memory")
        memory = self._add("two-products", "memory", forget_gate, before, input_gate, candidate)
        squashed = self._gate("squashed_memory", memory, _TANH, 0)
        self._add("product", "state", output_gate, squashed)

    def _gru(self, from_word: str, from_state: str, before: str) -> None:
        of_word = self._columns("gates_from_word", from_word, 0, 2)
        of_state = self._columns("gates_from_state", from_state, 0, 2)
        gates = self._add("add", "both_parts", of_word, of_state)
        reset = self._gate("reset_gate", gates, _SIGMOID, 0)
        update = self._gate("update_gate", gates, _SIGMOID, 1)
        reset_state = self._add("gate", "reset_state", reset, from_state)
        of_word = self._columns("candidate_from_word", from_word, 2, 1)
        candidate = self._gate("candidate", self._add("add", "candidate_parts", of_word, reset_state), _TANH, 0)
        new_share = self._add("complement", "new_share", update)
        self._add("two-products", "state", new_share, candidate, update, before)

    def _add(self, operation: str, name: str, *inputs: str) -> str:
        return self.steps.add(operation, f"{self.at}.{name}", inputs, (self.tokens, HIDDEN))

    def _linear(self, name: str, x: str, side: str) -> str:
        suffix = "l0_reverse" if self.reader.backwards else "l0"
        weight = self.steps.weight(self.cell, f"weight_{side}_{suffix}", (OUT, IN))
        bias = self.steps.weight(self.cell, f"bias_{side}_{suffix}", (OUT,))
        return self._add("linear-with-bias", name, x, weight, bias)

    def _gate(self, name: str, x: str, function: Callable[[Tensor], Tensor], part: int) -> str:
        """Apply a function to one of the parts of x, each as wide as the state."""
        axes = (self.tokens, HIDDEN)
        return self.steps.activation(
            function, f"{self.at}.{name}", x, axes, columns=self.width, skipped=part * self.width
        )

    def _columns(self, name: str, x: str, skipped: int, parts: int) -> str:
        axes, width = (self.tokens, HIDDEN), self.width
        return self.steps.add(
            "columns", f"{self.at}.{name}", (x,), axes, columns=parts * width, skipped=skipped * width
        )
