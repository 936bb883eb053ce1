"""The settings of the stages of alignment, named as in the papers."""

import textwrap
from collections.abc import Mapping
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from glassformer.errors import UsageError, brief, brief_value
from glassformer.models.model_config import Count, LearningRate, Seed
from glassformer.training.setting_names import complaint, nearest
from glassformer.training.training_config import LoopConfig


class FineTuningConfig(LoopConfig):
    """Settings of fine-tuning (`align sft`). Those of a reward model and of DPO build on them."""

    epochs: Count = 5
    patience: Count = 2
    batch_size: Count = 8
    """Windows (fine-tuning) or pairs (reward model, DPO) in a batch. Lower it if memory runs out."""
    learning_rate: LearningRate = 8e-3
    held_out: float = Field(default=0.1, ge=0, le=0.5)
    """Share of the records that is held out to choose the best epoch, from 0 (none) to 0.5."""


class PreferenceConfig(FineTuningConfig):
    """Settings of learning from preferences, which a reward model and DPO share."""

    epochs: Count = 12
    patience: Count = 6
    batch_size: Count = 32
    beta: float = Field(default=0.1, gt=0, allow_inf_nan=False)
    """Units of reward per nat of KL, above 0. Raise it to keep the model closer to the one that it starts from."""
    label_smoothing: float = Field(default=0.02, ge=0, lt=0.5)
    """Share of the preferences that may be the wrong way round, from 0 to below 0.5. With 0, the model moves away
    without end if the preferences never contradict each other."""
    text_weight: float = Field(default=2.0, ge=0, allow_inf_nan=False)
    """Weight of the mean log-probability of a token of the chosen answer, beside the preference. Without it, both
    answers may become unlikely, the chosen one less so (Pang et al. 2024)."""
    corruptions: bool = True
    """Whether to learn also that corrupted answers are worse than whole ones, and those of the start model no better
    than chosen ones. Without it, fragments may get a high reward."""


class RewardConfig(PreferenceConfig):
    """Settings of training a reward model (`align reward`)."""

    epochs: Count = 8
    members: int = Field(default=3, ge=1, le=64)
    """Models that learn side by side, from 1 on. The last of several is the referee: it has no part in the reward, and
    chooses the best policy. Raise it if reward and referee come apart during `align rl`."""
    disagreement: float = Field(default=1.0, ge=0, allow_inf_nan=False)
    """Reward subtracted for each unit of the members' standard deviation, from 0 on. Raise it if the policy finds texts
    that only some members like."""


class DPOConfig(PreferenceConfig):
    """Settings of direct preference optimisation (`align dpo`)."""


class PolicyConfig(BaseModel):
    """Settings that PPO and GRPO share. The policy is sampled at temperature 1, from all tokens.

    In each round the policy writes completions, the reward judges them, and the policy is trained on them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: Seed = 0
    """Seed of all random choices, the prompts of each round and the sampled tokens. From 0 on."""
    updates: Count = 80
    """Number of rounds. Raise it if the reward still grows at the end."""
    batch_size: int = Field(default=128, ge=2, le=10**9)
    """Completions that the policy writes in each round, at least 2. More of them make the gradient less noisy."""
    max_tokens: Count = 32
    """Most tokens of a completion. Longer ones are cut there."""
    epochs: Count = 2
    """How often the completions of a round are used for training. With more passes, the policy moves further per
    round."""
    minibatch_size: Count = 64
    """Completions in each step of the optimizer. Lower it if memory runs out."""
    learning_rate: LearningRate = 1e-3
    """Learning rate of the policy, above 0. Lower it if the KL grows quickly."""
    clip: float = Field(default=0.2, gt=0, lt=1)
    """ε of the clipped loss, between 0 and 1. The ratio of a token's new and old probability is clipped to 1 ± ε."""
    beta: float = Field(default=0.1, ge=0, allow_inf_nan=False)
    """Coefficient of the KL penalty at the beginning, in units of reward per nat, from 0 (no penalty, whatever
    `target_kl` is) on. Raise it to keep the policy closer to the reference, the model that training starts from."""
    target_kl: float | None = Field(default=0.3, gt=0, allow_inf_nan=False)
    """Wanted KL from the reference in nats per token, above 0. `beta` is adapted to reach it. `none` keeps `beta`
    fixed. Lower it if the answers stop making sense. Raise it if the reward hardly grows."""
    held_out: float = Field(default=0.1, gt=0, le=0.5)
    """Share of the prompts that is held out to choose the best policy, above 0 and at most 0.5. With fewer than fifty
    prompts it is chosen on all of them."""
    held_out_completions: Count = 128
    """Completions in each evaluation on held-out prompts. With few of them, the choice of the best policy is mostly
    chance."""
    evaluate_every: Count = 10
    """Rounds between two evaluations on held-out prompts."""
    most_kl: float = Field(default=0.8, gt=0)
    """If the KL is above this many nats per token, the policy is too far from the reference. The best one so far is put
    back, and the learning rate halved. The fourth time, training stops."""
    least_entropy: float = Field(default=0.02, ge=0)
    """Training stops if the mean entropy of a token's choice is below this many nats. The policy then always writes the
    same."""
    max_norm: float = Field(default=1.0, gt=0)
    """Largest norm of the gradient, above 0. It holds for the policy and for the value head separately."""

    @field_validator("target_kl", mode="before")
    @classmethod
    def _none(cls, value: Any) -> Any:
        return None if value == "none" else value


class PPOConfig(PolicyConfig):
    """Proximal policy optimisation."""

    gamma: float = Field(default=1.0, gt=0, le=1)
    """γ, the discount per token of later rewards, above 0 and at most 1. 1 means no discount."""
    lam: float = Field(default=0.95, ge=0, le=1)
    """λ of the advantages, from 0 to 1. 0 relies on the value of the next token, which has less noise. 1 relies on the
    whole return that followed, which has no bias."""
    value_clip: float = Field(default=0.2, gt=0)
    """Largest useful change of a predicted value in a round, in units of reward, above 0. A larger change does not
    lower the loss further."""


class GRPOConfig(PolicyConfig):
    """Group relative policy optimisation."""

    group_size: int = Field(default=8, ge=2, le=10**9)
    """Completions per prompt, at least 2. They are compared with each other. `batch_size` must be a multiple of it."""

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
            known = textwrap.wrap(", ".join(f"training.{name}" for name in kind.model_fields), 100)
            raise UsageError(f"the setting {brief(dotted)} does not exist here{hint}. There are:", listing=known)
        values[key] = value
    try:
        return kind(**values)
    except ValidationError as error:
        found = error.errors()[0]
        name = ".".join(["training", *map(str, found["loc"])])
        # If several fields contradict each other, the message names them.
        where = f"`{name}={brief_value(found['input'])}`" if found["loc"] else name
        raise UsageError(f"{where}: {complaint(found)}") from error
