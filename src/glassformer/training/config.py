"""The settings of training (recipe section `[training]`)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat


class TrainingConfig(BaseModel):
    """How a model is trained. Names are the recipe's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = Field(default=0, ge=0)
    """Decides the split, the initial weights, the order of batches and dropout."""
    epochs: int = Field(default=10, ge=1)
    """The most epochs; early stopping may end sooner."""
    min_steps_per_epoch: int = Field(default=50, ge=1)
    """A table that gives fewer steps than this is read several times per epoch."""
    patience: int = Field(default=2, ge=1)
    """Stop when the validation loss has not fallen for this many epochs. The best epoch's weights are kept."""
    batch_size: int = Field(default=64, ge=1)
    """The most texts in a batch."""
    batch_tokens: int = Field(default=8192, ge=1)
    """The most tokens in a batch, padding included."""
    accumulation: int = Field(default=1, ge=1)
    """Batches whose gradients are summed into one step."""
    optimizer: Literal["adamw", "muon"] = "muon"
    """`muon` updates the matrices inside blocks by Muon and everything else by AdamW; `adamw` everything."""
    learning_rate: float = Field(default=5e-4, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    """Decoupled decay, on matrices only."""
    schedule: Literal["cosine", "linear", "constant"] = "cosine"
    """How the learning rate goes from its peak to the end of training."""
    warmup: float = Field(default=0.05, ge=0, lt=1)
    """Share of training over which the learning rate rises from 0 to its peak."""
    clip: float = Field(default=1.0, gt=0)
    """The most that the norm of all gradients together may be."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    """Probability moved from the true class to all classes alike."""
    class_weights: Literal["none", "balanced"] | dict[str, PositiveFloat] = "none"
    """Weight of each class in the loss: all 1, inverse to its frequency, or a table by label."""
    token_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of tokens shown as unknown in training: it regularises, and teaches what an unknown word means."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """`auto` computes in bfloat16 where the processor has it. Weights and scores stay in float32."""
