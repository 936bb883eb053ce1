"""From a model to the steps of its forward pass, in their order. Reads like the diagram of `models/classifier.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from glassformer.layers.block import Block
from glassformer.layers.positions import LearnedPositions
from glassformer.models.classifier import Classifier, Trunk
from glassformer.models.pretrained import PretrainedEncoder
from glassformer.models.published.bui_dang import BuiDangColumns, BuiDangRows
from glassformer.models.published.notes_decoder import NotesDecoder
from glassformer.models.published.sentiment140 import Sentiment140
from glassformer.models.published.vinh import VinhAttention, VinhMLP, VinhTransformer
from glassformer.models.published.vinh_recurrent import VinhRecurrent
from glassformer.tracing.layers import Steps
from glassformer.tracing.published import (
    bui_dang_columns,
    bui_dang_rows,
    notes_decoder,
    sentiment140,
    vinh_attention,
    vinh_mlp,
    vinh_recurrent,
    vinh_transformer,
)
from glassformer.tracing.steps import Step


def plan(model: nn.Module) -> tuple[Step, ...]:
    """Return the steps from token ids to scores. Dropout is left out: it does nothing in evaluation."""
    steps = Steps(model)
    _WALKS[type(model)](steps, model)
    return tuple(steps.taken.values())


def _classifier(steps: Steps, model: Classifier) -> None:
    trunk = model.trunk
    x = steps.positions(trunk.positions, steps.embedding(trunk.embedding), "positions")
    _blocks_and_head(steps, trunk, model, x)


def _encoder(steps: Steps, model: PretrainedEncoder) -> None:
    x = steps.embedding(model.embedding)
    if isinstance(model.positions, LearnedPositions):
        x = steps.positions(model.positions, x, "positions.output")
    _blocks_and_head(steps, model, model, steps.add("same", "positions", (steps.norm(model.embedding_norm, x),)))


def _blocks_and_head(
    steps: Steps, trunk: Trunk | PretrainedEncoder, model: Classifier | PretrainedEncoder, x: str
) -> None:
    for block in trunk.blocks:
        assert isinstance(block, Block)
        x = steps.block(block, x)
    x = steps.add("same", "hidden", (steps.norm(trunk.norm, x),))
    steps.head(model.head, steps.pooling(model.pooling, x))


_WALKS: Mapping[type[nn.Module], Callable[[Steps, Any], None]] = {
    Classifier: _classifier,
    PretrainedEncoder: _encoder,
    BuiDangColumns: bui_dang_columns,
    BuiDangRows: bui_dang_rows,
    NotesDecoder: notes_decoder,
    Sentiment140: sentiment140,
    VinhAttention: vinh_attention,
    VinhMLP: vinh_mlp,
    VinhRecurrent: vinh_recurrent,
    VinhTransformer: vinh_transformer,
}
"""The walk through each design."""
