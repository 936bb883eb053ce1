"""The stages that learn from records: supervised fine-tuning, a reward model, and direct preference optimisation.

Each trains a causal language model as `run` says, and writes a model folder to `run.out`. `source` is the name that the
user gave for the records.

Raises (each of them):
    UsageError: no record fits into the window, the folder is in use, or the model is not causal.
    InterruptedTraining, NotANumberError: see `Run.learn`.
"""

import copy
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import numpy as np
import torch

from glassformer.alignment.alignment_config import DPOConfig, FineTuningConfig, PreferenceConfig, RewardConfig
from glassformer.alignment.answers import as_trained
from glassformer.alignment.corruptions import KINDS
from glassformer.alignment.judged import raw_rewards
from glassformer.alignment.pairs import Pair, Preference, ReadPair, read_together, room_for_answers
from glassformer.alignment.preferences import Preferences, ReadPreference, read_preferred
from glassformer.alignment.rollouts import Rollouts, roll_out
from glassformer.alignment.sft import Completions
from glassformer.alignment.stage_run import Card, Records, Run, Start
from glassformer.models.language_model import TokenPredictor
from glassformer.models.reward import RewardModel
from glassformer.prediction.folder_config import RewardFolderConfig, RewardScale
from glassformer.prediction.model_folder import TrainedLanguageModel, TrainedRewardModel
from glassformer.prediction.sampling import SamplingConfig

_MOST_SAMPLES = 2_000
_TEMPERATURE = 1.3  # above 1, samples hold more of the slips that the start model sometimes makes
_SCALED_BY = 256  # answers of the start model that give the unit of the reward
_LEAST_DEVIATION = 1e-6  # of raw rewards; below it, all answers are equally good


def fine_tune(run: Run[FineTuningConfig], pairs: Sequence[Pair], *, source: str) -> TrainedLanguageModel:
    """Supervised fine-tuning: learn to give the completions of pairs."""
    prompts, tokenizer = [pair.prompt for pair in pairs], run.start.trained.tokenizer

    def read(some: Sequence[Pair]) -> list[ReadPair]:
        return read_together(tokenizer, [pair.prompt for pair in some], [pair.completion for pair in some])

    train, held_out, records = run.divide(pairs, read, source=source)
    card = Card(
        title="A fine-tuned language model",
        does="It answers prompts as its records do, their mistakes and prejudices included. Its text may read well "
        "and be false.",
        figures=lambda best: f"loss {best['validation_loss']:.4f} nats per token of a completion",
    )
    task = Completions(train, run.config, window=run.start.shape.max_seq_len, held_out=held_out)
    made = partial(as_trained, run, prompts, train)
    return run.learn(copy.deepcopy(run.start.trained.model), task, records, made, card)


def train_reward_model(run: Run[RewardConfig], preferences: Sequence[Preference], *, source: str) -> TrainedRewardModel:
    """Train a reward model.

    It has several members (Coste et al. 2023). The reward is the mean of all but the last, minus their disagreement.
    The last member is the referee.
    """
    start, config = run.start, run.config
    task, records = _task(run, preferences, source, members=config.members)

    def made(model: RewardModel, fields: dict[str, Any], metrics: dict[str, Any]) -> TrainedRewardModel:
        folder = RewardFolderConfig(model=start.shape, scale=_scale(model, start, task.train, config), **fields)
        return TrainedRewardModel(config=folder, model=model, tokenizer=start.trained.tokenizer, metrics=metrics)

    card = Card(
        title="A glassformer reward model",
        does="It gives an answer a number. Each member measures it from the mean of the answers of the model that it "
        "was trained from, in units of their standard deviation. It learned the preferences of its records, their "
        "prejudices included.",
        figures=reward_figures_in_words,
    )
    return run.learn(RewardModel(start.trained.model, config.members), task, records, made, card)


def prefer(run: Run[DPOConfig], preferences: Sequence[Preference], *, source: str) -> TrainedLanguageModel:
    """Direct preference optimisation: learn from preferences without sampling and without a reward model beside it.

    Rafailov et al. 2023. The policy that is best for a reward r at a price of β per nat of KL is proportional to
    reference · exp(r/β), so β·log(policy/reference) is a reward. The policy is the only member of such a `RewardModel`.
    """
    start = run.start
    task, records = _task(run, preferences, source)

    def made(model: RewardModel, fields: dict[str, Any], metrics: dict[str, Any]) -> TrainedLanguageModel:
        prompts = [preference.prompt for preference in preferences]
        return as_trained(run, prompts, _texts(task.train), cast(TokenPredictor, model.members[0]), fields, metrics)

    card = Card(
        title="A language model trained on preferences",
        does="It was trained with DPO to give the answers that its records prefer, their prejudices included.",
        figures=reward_figures_in_words,
    )
    return run.learn(RewardModel(start.trained.model, members=1), task, records, made, card)


def reward_figures_in_words(row: Mapping[str, float]) -> str:
    """Write the held-out figures of an epoch as a sentence fragment."""
    said = (
        f"accuracy {row['validation_accuracy']:.4f}, mean margin {row['validation_margin']:.3f}, "
        f"calibration error {row['validation_calibration_error']:.3f}, loss {row['validation_loss']:.4f}"
    )
    ranks = [f"{kind.replace('_', ' ')} {row[f'above_{kind}']:.3f}" for kind in KINDS if f"above_{kind}" in row]
    return said + (f"; share of corrupted answers ranked below the whole one: {', '.join(ranks)}" if ranks else "")


def _task(
    run: Run[Any], preferences: Sequence[Preference], source: str, *, members: int = 1
) -> tuple[Preferences, Records]:
    read, window = partial(read_preferred, run.start.trained.tokenizer), run.start.shape.max_seq_len
    train, held_out, records = run.divide(preferences, read, source=source)
    samples = _sample_answers(run.start, train, run.config)
    task = Preferences(train, run.config, window=window, held_out=held_out, samples=samples, members=members)
    return task, records


def _texts(pairs: Sequence[ReadPreference]) -> list[ReadPair]:
    return [text for pair in pairs for text in (pair.chosen, pair.rejected)]


def _sample_answers(start: Start, pairs: Sequence[ReadPreference], config: PreferenceConfig) -> list[ReadPair]:
    """Let the start model answer the prompt of each pair, of the first ones if there are many.

    To learn from them, a chosen answer counts as better.

    Returns:
        The prompts with their answers; none if `config` wants none.
    """
    pairs = pairs[:_MOST_SAMPLES]
    if not config.corruptions or not pairs:
        return []
    prompts = [pair.prompt for pair in pairs]
    answers = _answer_as_long(start, prompts, pairs, seed=config.seed, temperature=_TEMPERATURE)
    return [
        ReadPair(
            token_ids=np.concatenate([pair.chosen.token_ids[: pair.chosen.begins], ids]), begins=pair.chosen.begins
        )
        for pair, ids in zip(pairs, answers.ids_without_end, strict=True)
    ]


def _answer_as_long(
    start: Start, prompts: list[str], pairs: Sequence[ReadPreference], *, seed: int, temperature: float = 1.0
) -> Rollouts:
    """Let the start model answer prompts, with as many tokens as the longest text of the pairs leaves."""
    window = start.shape.max_seq_len
    sampling = SamplingConfig(max_tokens=room_for_answers(_texts(pairs), window), seed=seed, temperature=temperature)
    return roll_out(start.trained.model, start.trained.tokenizer, prompts, sampling, max_seq_len=window)


def _scale(model: RewardModel, start: Start, pairs: Sequence[ReadPreference], config: RewardConfig) -> RewardScale:
    """Measure the raw rewards of the start model's answers."""
    prompts = list(dict.fromkeys(pair.prompt for pair in pairs))
    answers = _answer_as_long(start, [prompts[i % len(prompts)] for i in range(_SCALED_BY)], pairs, seed=config.seed)
    raw = raw_rewards(model, answers)[torch.tensor(answers.ended)]
    raw = raw if len(raw) > 1 else torch.tensor([[-1.0], [1.0]]).expand(2, config.members)
    deviations = raw.std(dim=0)
    return RewardScale(
        means=tuple(raw.mean(dim=0).tolist()),
        deviations=tuple(deviations.where(deviations > _LEAST_DEVIATION, 1.0).tolist()),
        disagreement=config.disagreement,
    )
