"""The settings of training (recipe section `[training]`)."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, model_validator

from glassformer.models.bounds import Count, LearningRate, Seed


class LoopConfig(BaseModel):
    """What every training has in common, `Trainer`. Names are the recipe's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: Seed = 0
    """Decides the split, the initial weights, the order of batches and dropout."""
    epochs: Count = 10
    """The most epochs; early stopping may end sooner."""
    max_steps: Count | None = None
    """Train for exactly this many steps, whatever `epochs` and `patience` say; the schedule is stretched over them."""
    max_seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """The same by the clock, validation included but for the last. Such a run is not repeatable to the bit."""
    min_steps_per_epoch: Count = 50
    """Data that give fewer steps than this are read several times per epoch."""
    patience: Count = 2
    """Stop when the validation loss has not fallen for this many epochs. The best epoch's weights are kept."""
    batch_size: Count = 64
    """The most texts in a batch, or windows, or pairs: whatever is learned from."""
    accumulation: Count = 1
    """Batches whose gradients are summed into one step."""
    optimizer: Literal["adamw", "muon", "sgd"] = "muon"
    """`muon` updates the matrices inside blocks by Muon and everything else by AdamW; the others everything alike."""
    learning_rate: LearningRate = 5e-4
    layer_decay: float = Field(default=1.0, gt=0, le=1)
    """The learning rate of a block in shares of that of the block above; the head learns at full rate."""
    freeze: NonNegativeInt | Literal["all"] = 0
    """Blocks, counted from the embeddings up and with them, that stay as they are; `all`: only the head learns."""
    weight_decay: float = Field(default=0.01, ge=0, le=1_000)
    """Decoupled decay, on matrices only."""
    schedule: Literal["cosine", "linear", "constant", "cosine-by-epoch"] = "cosine"
    """How the learning rate goes from its peak to the end of training; by epoch: see `cosine_epochs`."""
    cosine_epochs: Count = 10
    """For `cosine-by-epoch`: epochs until the rate, constant within each, has fallen to 0; it rises again after."""
    warmup: float = Field(default=0.05, ge=0, lt=1)
    """Share of training over which the learning rate rises from 0 to its peak."""
    clip: float = Field(default=1.0, gt=0)
    """The most that the norm of all gradients together may be."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """`auto` computes in bfloat16 where the processor has it. Weights and scores stay in float32."""

    @model_validator(mode="after")
    def _one_budget(self) -> Self:
        if self.max_steps is not None and self.max_seconds is not None:
            raise ValueError(
                f"max_steps = {self.max_steps} and max_seconds = {self.max_seconds:g} are two budgets; leave one out"
            )
        return self


class TrainingConfig(LoopConfig):
    """How a classifier is trained."""

    batch_tokens: Count = 8192
    """The most tokens in a batch of order `bucketed`, padding included; other orders go by `batch_size` alone."""
    order: Literal["bucketed", "shuffled", "as-given"] = "bucketed"
    """`bucketed`: shuffled anew each epoch into batches of similar length; `shuffled`: of any length; or as given."""
    loss: Literal["cross-entropy", "bce-on-probabilities"] = "cross-entropy"
    """The second is a published mistake, kept to reproduce it (see `binary_cross_entropy_on_probabilities`)."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    """Probability moved from the true class to all classes alike."""
    class_weights: Literal["none", "balanced"] | dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = "none"
    """Weight of each class in the loss: all 1, inverse to its frequency, or a table by label."""
    token_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of tokens shown as unknown in training: it regularises, and teaches what an unknown word means."""


class PretrainingConfig(LoopConfig):
    """How a language model is trained."""

    epochs: Count = 3
    batch_size: Count = 8
    """Windows in a batch. On a GPU larger ones are faster."""
    learning_rate: LearningRate = 4e-3
    hidden_share: float = Field(default=0.25, gt=0, lt=1)
    """With full attention: share of tokens that are hidden, to be filled in."""
    whole_words: bool = False
    """With full attention: hide all pieces of a word together."""
    compile: bool = False
    """Compile the step: half a minute or more before the first one, then faster ones. Needs a C++ compiler."""
