"""The steps of each layer. Each method of `Steps` adds those of one layer, and names its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.layers.attention import MultiHeadAttention
from glassformer.layers.block import Block
from glassformer.layers.embeddings import TextsEmbedding
from glassformer.layers.feedforward import FeedForward, GatedFeedForward, LinearFeedForward
from glassformer.layers.heads import DenseHead, OrderedHead
from glassformer.layers.masks import CausalPattern, LocalPattern
from glassformer.layers.norms import BatchNorm, LayerNorm, RMSNorm
from glassformer.layers.pooling import (
    AttentionPooling,
    FirstPooling,
    FlattenPooling,
    LastPooling,
    MeanPooling,
)
from glassformer.layers.positions import LearnedPositions, Rotary, SinusoidalPositions
from glassformer.tracing.steps import (
    CLASSES,
    FEATURES,
    HEADS,
    HIDDEN,
    IN,
    IN_ROW,
    OUT,
    TOKENS,
    TOKENS_BY_FEATURES,
    Axes,
    Step,
)

_FUNCTIONS: Mapping[Any, str] = {F.relu: "relu", F.gelu: "gelu", F.sigmoid: "sigmoid", F.silu: "silu", F.tanh: "tanh"}


def tensors_of(model: nn.Module) -> dict[str, Tensor]:
    """Return all weights and tables of a model by the names that steps use, which leave out `trunk.`."""
    found = [*model.named_parameters(), *model.named_buffers()]
    return {_short(name): tensor for name, tensor in found}


def modules_of(model: nn.Module) -> dict[str, nn.Module]:
    """Return the modules of a model by the same kind of name."""
    return {_short(name): module for name, module in model.named_modules()}


class Steps:
    """The steps so far. Each method adds those of a layer and returns the name of its result."""

    def __init__(self, model: nn.Module) -> None:
        self.taken: dict[str, Step] = {}
        self.paths = {module: path for path, module in modules_of(model).items()}
        self.add("given", "token_ids", (), (TOKENS,))

    def fix_length(self, length: int) -> None:
        """Tell that the model drops the start token, and reads texts of this length."""
        self.add("given", "token_ids", (), (TOKENS,), fixed_length=length)

    def add(
        self,
        operation: str,
        name: str,
        inputs: tuple[str, ...],
        axes: Axes = TOKENS_BY_FEATURES,
        **settings: Any,
    ) -> str:
        self.taken[name] = Step(name=name, operation=operation, inputs=inputs, axes=axes, settings=settings)
        return name

    def weight(self, module: nn.Module, name: str, axes: Axes = (FEATURES,)) -> str:
        """Add a weight or table. Of a table with a row for each position, only the rows of the text are shown."""
        return self.add("weight", f"{self.paths[module]}.{name}".removeprefix("."), (), axes)

    def linear(self, layer: nn.Linear, x: str, *, name: str = "", axes: Axes = (TOKENS, HIDDEN)) -> str:
        inputs: tuple[str, ...] = (x, self.weight(layer, "weight", (OUT, IN)))
        operation = "linear"
        if "bias" in layer.state_dict():
            operation, inputs = "linear-with-bias", (*inputs, self.weight(layer, "bias", (OUT,)))
        return self.add(operation, name or self.paths[layer], inputs, axes)

    def embedding(self, layer: nn.Module, name: str = "embedding") -> str:
        if isinstance(layer, TextsEmbedding):
            inputs = "token_ids", self.weight(layer, "text", (IN_ROW, FEATURES)), self.weight(layer, "match")
            about: dict[str, Any] = {"separator": layer.separator, "n_special": layer.n_special}
            return self.add("lookup-in-row", name, inputs, table=f"{self.paths[layer]}.weight", **about)
        table = "rows" if hasattr(layer, "rows") else "weight"
        return self.add("lookup", name, ("token_ids",), table=f"{self.paths[layer]}.{table}")

    def positions(self, layer: nn.Module, x: str, name: str) -> str:
        if isinstance(layer, LearnedPositions | SinusoidalPositions):
            table = "weight" if isinstance(layer, LearnedPositions) else "table"
            return self.add("add", name, (x, self.weight(layer, table, TOKENS_BY_FEATURES)))
        if isinstance(layer, Rotary):
            return self.add("rotate", name, (x, *self.angles(layer)))
        return self.add("same", name, (x,))

    def angles(self, layer: Rotary) -> tuple[str, str]:
        return self.weight(layer, "cos", TOKENS_BY_FEATURES), self.weight(layer, "sin", TOKENS_BY_FEATURES)

    def norm(self, layer: nn.Module, x: str, axes: Axes = TOKENS_BY_FEATURES) -> str:
        """Add a norm. The result of a norm that the model does not have is its input."""
        if isinstance(layer, BatchNorm):
            statistics = "running_mean", "running_var", "weight", "bias"
            inputs: tuple[str, ...] = (x, *(self.weight(layer.norm, name) for name in statistics))
            return self.add("batch-norm", f"{self.paths[layer]}.output", inputs, axes, eps=layer.norm.eps)
        if isinstance(layer, RMSNorm):
            inputs = (x, self.weight(layer, "weight"))
            return self.add("rms-norm", f"{self.paths[layer]}.output", inputs, axes, eps=layer.eps)
        if isinstance(layer, LayerNorm | nn.LayerNorm):
            names = ("weight",) if layer.bias is None else ("weight", "bias")
            inputs = (x, *(self.weight(layer, name) for name in names))
            name = self.paths[layer] if isinstance(layer, nn.LayerNorm) else f"{self.paths[layer]}.output"
            return self.add("layer-norm", name, inputs, axes, eps=layer.eps)
        return x

    def attention(self, layer: MultiHeadAttention, x: str) -> str:
        at = self.paths[layer]
        head_dim = layer.in_projection.in_features // layer.n_heads
        projected = self.linear(layer.in_projection, x)
        angles = self.angles(layer.rotation) if isinstance(layer.rotation, Rotary) else ()
        for part, name in enumerate(("query", "key", "value")):
            turned = angles if name != "value" else ()
            operation = "rotated-head" if turned else "head"
            self.add(
                operation, f"{at}.{name}", (projected, *turned), (HEADS, TOKENS, FEATURES), part=part, head_dim=head_dim
            )
        pattern: dict[str, Any] = {"pattern": "full"}
        if isinstance(layer.pattern, CausalPattern):
            pattern = {"pattern": "causal"}
        if isinstance(layer.pattern, LocalPattern):
            pattern = {"pattern": "local", "reach": layer.pattern.reach}
        square = (HEADS, TOKENS, TOKENS)
        scores = self.add("scores", f"{at}.scores", (f"{at}.query", f"{at}.key"), square, head_dim=head_dim, **pattern)
        weights = self.add("softmax", f"{at}.weights", (scores,), square)
        heads = self.add("mix", f"{at}.heads", (weights, f"{at}.value"), (HEADS, TOKENS, FEATURES))
        joined = self.add("join", f"{at}.joined", (heads,))
        return self.linear(layer.out_projection, joined, name=f"{at}.output", axes=TOKENS_BY_FEATURES)

    def feed_forward(self, layer: nn.Module, x: str) -> str:
        at = self.paths[layer]
        if isinstance(layer, LinearFeedForward):
            return self.linear(layer.out_projection, x, name=f"{at}.output", axes=TOKENS_BY_FEATURES)
        assert isinstance(layer, FeedForward | GatedFeedForward)
        projected = self.linear(layer.in_projection, x)
        width = layer.out_projection.in_features
        inner = self.activation(layer.activation, f"{at}.activation", projected, (TOKENS, HIDDEN), columns=width)
        if isinstance(layer, GatedFeedForward):
            inner = self.add("gate", f"{at}.product", (inner, projected), (TOKENS, HIDDEN))
        return self.linear(layer.out_projection, inner, name=f"{at}.output", axes=TOKENS_BY_FEATURES)

    def activation(
        self,
        function: Callable[[Tensor], Tensor],
        name: str,
        x: str,
        axes: Axes,
        *,
        columns: int,
        skipped: int = 0,
    ) -> str:
        """Apply a function to some columns of x: `columns` of them, after the first `skipped`."""
        known = "gelu-tanh" if isinstance(function, partial) else _FUNCTIONS[function]
        return self.add("activation", name, (x,), axes, function=known, columns=columns, skipped=skipped)

    def block(self, layer: Block, x: str) -> str:
        at = self.paths[layer]
        mixed = self.attention(layer.attention, self.norm(layer.attention_pre_norm, x))
        x = self.norm(layer.attention_post_norm, self.add("add", f"{at}.after_attention", (x, mixed)))
        moved = self.feed_forward(layer.feed_forward, self.norm(layer.feed_forward_pre_norm, x))
        return self.norm(layer.feed_forward_post_norm, self.add("add", f"{at}.after_feed_forward", (x, moved)))

    def pooling(self, layer: nn.Module, x: str) -> str:
        one_row = (FEATURES,)
        if isinstance(layer, AttentionPooling):
            at, width = self.paths[layer], len(layer.query)
            inputs = (x, self.weight(layer, "query"))
            scores = self.add("query-scores", f"{at}.scores", inputs, (TOKENS,), d_model=width)
            weights = self.add("softmax", f"{at}.weights", (scores,), (TOKENS,))
            return self.add("weighted-mean", "pooled", (weights, x), one_row)
        if isinstance(layer, FirstPooling | LastPooling):
            row = "first" if isinstance(layer, FirstPooling) else "last"
            return self.add("pick", "pooled", (x,), one_row, row=row)
        if isinstance(layer, FlattenPooling):
            return self.add("flatten", "pooled", (x,), one_row)
        return self.add("mean" if isinstance(layer, MeanPooling) else "max", "pooled", (x,), one_row)

    def head(self, layer: nn.Module, x: str) -> None:
        if isinstance(layer, DenseHead):
            inner = self.linear(layer.in_projection, x, axes=(HIDDEN,))
            inner = self.activation(
                layer.activation, "head.activation", inner, (HIDDEN,), columns=len(layer.in_projection.weight)
            )
            x, layer = self.norm(layer.norm, inner, (HIDDEN,)), layer.out_projection
        if isinstance(layer, OrderedHead):
            score, steps = self.linear(layer.score, x, axes=(HIDDEN,)), self.weight(layer, "steps", (OUT,))
            self.add("ordered-logits", "logits", (score, steps), (CLASSES,))
            return
        assert isinstance(layer, nn.Linear)
        self.linear(layer, x, name="logits", axes=(CLASSES,))


def _short(name: str) -> str:
    return name.removeprefix("trunk.")
