"""The settings of the stages of alignment, named as in the papers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from glassformer.errors import UsageError, brief, brief_value
from glassformer.models.bounds import Count, LearningRate, Seed
from glassformer.training.setting_names import nearest
from glassformer.training.training_config import LoopConfig


class FineTuningConfig(LoopConfig):
    """Settings of fine-tuning (`align sft`) and of training a reward model (`align reward`)."""

    epochs: Count = 8
    patience: Count = 4
    batch_size: Count = 16
    """Windows, or pairs, in a batch."""
    learning_rate: LearningRate = 1e-3
    held_out: float = Field(default=0.1, ge=0, le=0.5)
    """Share of the records that is held out."""


class PolicyConfig(BaseModel):
    """Settings that PPO and GRPO share. The policy is sampled at temperature 1, from all tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: Seed = 0
    """Decides the prompts and every sampled token."""
    updates: Count = 100
    """Rounds of writing, judging and learning."""
    batch_size: int = Field(default=64, ge=2, le=10**9)
    """Completions written in each round."""
    max_tokens: Count = 32
    """The most tokens of a completion."""
    epochs: Count = 2
    """Passes over the completions of a round."""
    minibatch_size: Count = 32
    """Completions in a step of the optimizer."""
    learning_rate: LearningRate = 3e-4
    clip: float = Field(default=0.2, gt=0, lt=1)
    """ε of the clipped loss: a token's probability ratio is clipped to 1 ± this."""
    beta: float = Field(default=0.1, ge=0, allow_inf_nan=False)
    """The KL penalty: units of reward per nat of KL from the reference."""
    target_kl: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """The KL of a completion, in nats, to which `beta` is adapted; None leaves `beta` fixed."""
    held_out: float = Field(default=0.1, gt=0, le=0.5)
    """Share of the prompts on which the best policy is chosen; with fewer than ten prompts, all of them."""
    held_out_completions: Count = 128
    """Completions judged at each evaluation on held-out prompts. With few, chance decides which policy is best."""
    evaluate_every: Count = 10
    """Rounds between two evaluations on held-out prompts."""
    most_kl: float = Field(default=50.0, gt=0)
    """Stop when the mean KL of completions is above this many nats: the policy is too far from the reference."""
    least_entropy: float = Field(default=0.02, ge=0)
    """Stop when the entropy of a token's choice is below this many nats: the policy always writes the same."""
    max_norm: float = Field(default=1.0, gt=0)
    """The gradient of the policy is clipped to this norm, and so is that of the value head."""

    @model_validator(mode="after")
    def _can_adapt(self) -> Self:
        if self.target_kl is not None and self.beta == 0:
            raise ValueError(
                f"beta = 0 cannot be adapted to target_kl = {self.target_kl:g}, since it stays 0; set beta above 0"
            )
        return self


class PPOConfig(PolicyConfig):
    """Proximal policy optimisation."""

    gamma: float = Field(default=1.0, gt=0, le=1)
    """γ, the discount of the next token's return."""
    lam: float = Field(default=0.95, ge=0, le=1)
    """λ of the advantages: 0 relies on the values of the next token, 1 on the whole return that followed."""
    value_clip: float = Field(default=0.2, gt=0)
    """How far a value can move in a round and still lower its loss, in units of reward."""


class GRPOConfig(PolicyConfig):
    """Group relative policy optimisation."""

    group_size: int = Field(default=8, ge=2, le=10**9)
    """Completions of one prompt that are compared with each other; `batch_size` is a multiple of it."""

    @model_validator(mode="after")
    def _groups_fill_the_batch(self) -> Self:
        if self.batch_size % self.group_size:
            raise ValueError(
                f"batch_size must be a multiple of group_size, got batch_size = {self.batch_size}, group_size = "
                f"{self.group_size}"
            )
        return self


AnyConfig = TypeVar("AnyConfig", bound=BaseModel)


def configured(kind: type[AnyConfig], overrides: Mapping[str, Any]) -> AnyConfig:
    """Return the defaults with some values replaced, by dotted name (`training.…`).

    Raises:
        UsageError: a name is unknown (the message names the nearest known one), or a value is not allowed.
    """
    values = {}
    for dotted, value in overrides.items():
        section, _, key = dotted.rpartition(".")
        if section != "training" or key not in kind.model_fields:
            near = nearest(key, kind.model_fields)
            hint = f" (did you mean training.{near}?)" if near else ""
            others: dict[str, type[BaseModel]] = {"ppo": PPOConfig, "grpo": GRPOConfig}
            if section == "training" and (of := [name for name, other in others.items() if key in other.model_fields]):
                hint = f" (it is a setting of align rl{f' with `algorithm={of[0]!r}`' if len(of) == 1 else ''})"
            known = ", ".join(f"training.{name}" for name in kind.model_fields)
            raise UsageError(f"the setting {brief(dotted)} does not exist here{hint}; there are {known}")
        values[key] = value
    try:
        return kind(**values)
    except ValidationError as error:
        found = error.errors()[0]
        name = ".".join(["training", *map(str, found["loc"])])
        # If several fields contradict each other, the message names them.
        where = f"`{name}={brief_value(found['input'])}`" if found["loc"] else name
        raise UsageError(f"{where}: {found['msg'].removeprefix('Value error, ')}") from error
