"""The steps of Bui's and Dang's designs: plain matrices, without layers."""

from __future__ import annotations

from torch import nn

from glassformer.models.published.bui_dang_columns import BuiDangColumns
from glassformer.models.published.bui_dang_rows import BuiDangRows
from glassformer.models.published.fixed_length import N_SPECIAL
from glassformer.tracing.layers import Steps
from glassformer.tracing.steps import CLASSES, FEATURES, HIDDEN, IN, OUT, TOKENS, TOKENS_BY_FEATURES

_RELU = nn.functional.relu
_ROWS_BY_FEATURES = ("rows", FEATURES)


def bui_dang_rows(steps: Steps, model: BuiDangRows) -> None:
    """Rows are words: two causal heads → softmax as a norm → over positions → softmax → one weight per row."""
    steps.fix_length(model.length)
    one_hot = _one_hot(steps, model)
    words = steps.add(
        "add", "words", (one_hot, steps.weight(model, "positions", TOKENS_BY_FEATURES)), TOKENS_BY_FEATURES
    )
    heads = tuple(_head(steps, model, number, words) for number in range(len(model.heads)))
    joined = steps.add("beside", "joined", heads, TOKENS_BY_FEATURES)
    attention = _product(steps, model, "attended", joined, "Wo", axes=TOKENS_BY_FEATURES)
    both = steps.add("beside", "attended_and_words", (attention, words), TOKENS_BY_FEATURES)
    x = _product(steps, model, "norm_sum", both, "gamma_self", "beta_self", axes=TOKENS_BY_FEATURES)
    normed = steps.add("softmax", "normed", (x,), TOKENS_BY_FEATURES)
    x = _product(steps, model, "over_positions", "Wf", normed, "bf", axes=_ROWS_BY_FEATURES)
    fed = steps.activation(_RELU, "rectified", x, _ROWS_BY_FEATURES, columns=model.Wo.shape[1])
    x = steps.add("below", "fed_and_normed", (fed, normed), _ROWS_BY_FEATURES)
    x = _product(steps, model, "rows_sum", x, "gamma_feed", "beta_feed", axes=("rows", CLASSES))
    rows = steps.add("softmax", "rows", (x,), ("rows", CLASSES))
    row = _product(steps, model, "row", "Wl", rows, "bl", axes=("rows", CLASSES))
    steps.add("pick", "logits", (row,), (CLASSES,), row="first")


def _head(steps: Steps, model: BuiDangRows, number: int, words: str) -> str:
    at, square = f"heads.{number}", (TOKENS, TOKENS)
    query, key, value = (
        _product(steps, model, f"{at}.{name}", words, f"W{name[0]}.{number}", axes=TOKENS_BY_FEATURES)
        for name in ("query", "key", "value")
    )
    scores = steps.add("scores", f"{at}.scores", (query, key), square, head_dim=model.length, pattern="causal")
    weights = steps.add("softmax", f"{at}.weights", (scores,), square)
    return steps.add("mix", f"{at}.mixed", (weights, value), TOKENS_BY_FEATURES)


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
    return steps.add("one-hot", "one_hot", ("token_ids",), TOKENS_BY_FEATURES, first=N_SPECIAL, words=words)


def _product(
    steps: Steps, model: nn.Module, name: str, left: str, right: str, bias: str = "", *, axes: tuple[str, ...]
) -> str:
    """Add a matrix product. Its factors are matrices so far, or names of weights."""
    inputs = tuple(
        factor if factor in steps.taken else steps.weight(model, factor, (OUT, IN) if factor == left else (IN, OUT))
        for factor in (left, right)
    )
    if not bias:
        return steps.add("matmul", name, inputs, axes)
    return steps.add("matmul-with-bias", name, (*inputs, steps.weight(model, bias, (OUT, IN))), axes)
