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
    """How far from 1 a token's probability ratio may count."""
    beta: float = Field(default=0.1, ge=0, allow_inf_nan=False)
    """What a nat of KL from the reference costs, in units of reward."""
    target_kl: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """With it, `beta` is adapted so that a completion stays this many nats from the reference."""
    held_out: float = Field(default=0.1, gt=0, le=0.5)
    """Share of the prompts on which the best policy is chosen; with fewer than ten prompts, all of them."""
    held_out_completions: Count = 128
    """Completions of held-out prompts that are judged at each look; by few, the best policy is drawn by lot."""
    evaluate_every: Count = 10
    """Rounds between two looks at the held-out prompts."""
    most_kl: float = Field(default=50.0, gt=0)
    """Stop when a completion is more nats from the reference than this: the policy has left the language."""
    least_entropy: float = Field(default=0.02, ge=0)
    """Stop when the choice of a token is less uncertain than this many nats: the policy always says the same."""
    max_norm: float = Field(default=1.0, gt=0)
    """The most that the norm of the policy's gradient may be, and of the value head's."""

    @model_validator(mode="after")
    def _can_adapt(self) -> Self:
        if self.target_kl is not None and self.beta == 0:
            raise ValueError(f"beta = 0 stays 0 whatever target_kl = {self.target_kl:g} asks for; start from another")
        return self


class PPOConfig(PolicyConfig):
    """Proximal policy optimisation."""

    gamma: float = Field(default=1.0, gt=0, le=1)
    """What the next token's return is worth now."""
    lam: float = Field(default=0.95, ge=0, le=1)
    """How far advantages look ahead in what happened, rather than in what was expected."""
    value_clip: float = Field(default=0.2, gt=0)
    """How far a value may usefully move in a round, in units of reward."""


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
    """The defaults, with some values replaced by dotted name (`training.…`).

    Raises:
        UsageError: an unknown name (the nearest known one is named), or a value that does not fit.
    """
    values = {}
    for dotted, value in overrides.items():
        section, _, key = dotted.rpartition(".")
        if section != "training" or key not in kind.model_fields:
            near = nearest(key, kind.model_fields)
            hint = f" (did you mean training.{near}?)" if near else ""
            others: dict[str, type[BaseModel]] = {"ppo": PPOConfig, "grpo": GRPOConfig}
            if section == "training" and (of := [name for name, one in others.items() if key in one.model_fields]):
                hint = f" (it is one of align rl{f' --algorithm {of[0]}' if len(of) == 1 else ''})"
            known = ", ".join(f"training.{name}" for name in kind.model_fields)
            raise UsageError(f"--set {brief(dotted)}: there is no such setting here{hint}; there are {known}")
        values[key] = value
    try:
        return kind(**values)
    except ValidationError as error:
        found = error.errors()[0]
        where = ".".join(["training", *map(str, found["loc"])])
        # Where several fields do not agree, they are in the message.
        value = f"={brief_value(found['input'])}" if found["loc"] else ""
        raise UsageError(f"--set {where}{value}: {found['msg'].removeprefix('Value error, ')}") from error
