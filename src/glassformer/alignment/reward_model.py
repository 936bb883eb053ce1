"""Train a reward model from a causal language model, and write its model folder.

It has several members (Coste et al. 2023). The reward is the mean of all but the last, minus their disagreement. The
last member is the referee.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from glassformer.alignment.alignment_config import RewardConfig
from glassformer.alignment.corruptions import KINDS
from glassformer.alignment.pairs import Preference
from glassformer.alignment.preferences import Preferences, ReadPreference, read_preferred
from glassformer.alignment.rollouts import Rollouts
from glassformer.alignment.stage_run import Facts, Run, Start, card
from glassformer.alignment.start_answers import answer_as_long, sample_answers
from glassformer.models.reward import RewardModel
from glassformer.prediction.folder_config import RewardFolderConfig, RewardScale
from glassformer.prediction.model_folder import TrainedRewardModel, save_model

_SCALED_BY = 256  # answers of the start model that give the unit of the reward
_TOGETHER = 256  # answers that are read at once
_LEAST_DEVIATION = 1e-6  # of raw rewards; below it, all answers are equally good


def train_reward_model(run: Run[RewardConfig], preferences: Sequence[Preference], *, source: str) -> TrainedRewardModel:
    """Train a reward model and write its model folder to `run.out`.

    Args:
        source: the name that the user gave for the preferences.

    Raises:
        UsageError: no record fits into the window, the folder is in use, or the model is not causal.
        InterruptedTraining, NotANumberError: see `Run.learn`.
    """
    shape, tokenizer, config = run.start.shape, run.start.trained.tokenizer, run.config
    train, held_out, records = run.divide(preferences, partial(read_preferred, tokenizer), source=source)
    samples = sample_answers(run.start, train, config)
    task = Preferences(
        train, config, window=shape.max_seq_len, held_out=held_out, samples=samples, members=config.members
    )

    def save(model: RewardModel, facts: Facts) -> TrainedRewardModel:
        scale = _scale(model, run.start, train, config)
        made = RewardFolderConfig(model=shape, scale=scale, **facts.config)
        trained = TrainedRewardModel(config=made, model=model, tokenizer=tokenizer, metrics=facts.metrics)
        does = (
            "It gives an answer a number. Each member measures it from the mean of the answers of the model that it "
            "was trained from, in units of their standard deviation. It learned the preferences of its records, their "
            "prejudices included."
        )
        figures = reward_figures_in_words(facts.metrics["best"]) if records.held_out else ""
        save_model(run.out, trained, card=card("A glassformer reward model", does, facts, figures))
        return trained

    return run.learn(RewardModel(run.start.trained.model, config.members), task, records, save)


def reward_figures_in_words(row: Mapping[str, float]) -> str:
    """Write the held-out figures of an epoch as a sentence fragment."""
    said = (
        f"accuracy {row['validation_accuracy']:.4f}, mean margin {row['validation_margin']:.3f}, "
        f"calibration error {row['validation_calibration_error']:.3f}, loss {row['validation_loss']:.4f}"
    )
    ranks = [f"{kind.replace('_', ' ')} {row[f'above_{kind}']:.3f}" for kind in KINDS if f"above_{kind}" in row]
    return said + (f"; share of corrupted answers ranked below the whole one: {', '.join(ranks)}" if ranks else "")


def _scale(model: RewardModel, start: Start, pairs: Sequence[ReadPreference], config: RewardConfig) -> RewardScale:
    """Measure the raw rewards of the start model's answers."""
    prompts = list(dict.fromkeys(pair.prompt for pair in pairs))
    answers = answer_as_long(start, [prompts[i % len(prompts)] for i in range(_SCALED_BY)], pairs, seed=config.seed)
    raw = raw_rewards(model, answers)[torch.tensor(answers.ended)]
    raw = raw if len(raw) > 1 else torch.tensor([[-1.0], [1.0]]).expand(2, config.members)
    deviations = raw.std(dim=0)
    return RewardScale(
        means=tuple(raw.mean(dim=0).tolist()),
        deviations=tuple(deviations.where(deviations > _LEAST_DEVIATION, 1.0).tolist()),
        disagreement=config.disagreement,
    )


@torch.inference_mode()
def raw_rewards(model: RewardModel, answers: Rollouts) -> Float[Tensor, "answers members"]:
    """Return log(member/reference) of each answer, in nats."""
    parts = torch.arange(len(answers.prompts)).split(_TOGETHER)  # logits of all answers may not fit into memory
    each = [answers.rows(part) for part in parts]
    return torch.cat([model(part.token_ids, part.attention_mask, part.loss_mask) for part in each])
