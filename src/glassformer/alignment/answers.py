"""Measure the answers that a language model samples: by their form, by learned judges, and by an exact one.

If all prompts are questions of `polarity`, the grammar that generated its opinions says whether an answer is one of its
sentences, about the thing asked, and favourable. No policy can fool it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from glassformer.alignment.judged import Reward, read_back
from glassformer.alignment.pairs import ReadPair, room_for_answers
from glassformer.alignment.rollouts import Rollouts, distinct_n, roll_out
from glassformer.alignment.stage_run import Run, Start
from glassformer.data import polarity
from glassformer.data.tokenizers import TextTokenizer
from glassformer.evaluation.intervals import bootstrap_mean, wilson
from glassformer.models.language_model import TokenPredictor
from glassformer.prediction.folder_config import LanguageFolderConfig
from glassformer.prediction.model_folder import TrainedLanguageModel
from glassformer.prediction.sampling import SamplingConfig

Figures = dict[str, dict[str, float]]
"""Figures by the names of `NAMES`, each with its `value` and the ends of its 95% interval, `low` and `high`."""
EXACT = ("well_formed", "about", "favourable")
"""What the grammar of `polarity` says of an answer."""
NAMES = {
    "well_formed": "well formed",
    "about": "about the thing asked",
    "favourable": "favourable",
    "ended": "ended by themselves",
    "distinct": "different from each other",
    "repetition": "word pairs said before",
    "length": "tokens",
    "start_logprob": "log-probability of a token under the start, nats",
    "kl": "KL of an answer from the start, nats",
    "reward": "reward",
    "referee": "the referee's reward",
}
"""The figures of `measure_answers` in words. Those up to `repetition` are shares."""
SHARES = tuple(NAMES)[:6]
COUNT = 200
"""The number of answers that a stage is measured by."""


def measure_answers(
    model: TokenPredictor,
    tokenizer: TextTokenizer,
    prompts: Sequence[str],
    *,
    start: TokenPredictor,
    count: int,
    max_tokens: int,
    max_seq_len: int,
    seed: int,
    reward: Reward | None = None,
) -> Figures:
    """Let a model answer prompts, `count` times in all, and measure the answers.

    Args:
        start: the model that `kl` and `start_logprob` compare with.

    Returns:
        The figures of the answers: the exact ones if there are any, and those of the reward if it is given.

    Raises:
        GlassformerError: the model gives NaN or infinite logits, or the reward fails.
    """
    asked = [prompts[i % len(prompts)] for i in range(count)]
    sampling = SamplingConfig(max_tokens=max_tokens, seed=seed)
    answers = roll_out(model, tokenizer, asked, sampling, max_seq_len=max_seq_len)
    rewards = torch.zeros(count) if reward is None else reward(answers)
    judged = read_back(model, start, answers, rewards)
    places = answers.loss_mask.sum(dim=1)
    per_answer = {
        "repetition": [1 - distinct_n([ids], 2) if len(ids) > 1 else 0.0 for ids in answers.ids_without_end],
        "length": places.tolist(),
        "start_logprob": (judged.reference_logprobs.where(answers.loss_mask, 0).sum(dim=1) / places).tolist(),
        "kl": judged.kl.tolist(),
    }
    if reward is not None:
        per_answer["reward"] = rewards.tolist()
        if reward.referee is not None:
            per_answer["referee"] = reward.referee(answers).tolist()
    shares = exact_verdicts(answers) | {"ended": answers.ended}
    figures = {name: wilson(sum(right), count) for name, right in shares.items()}
    figures["distinct"] = wilson(len(set(zip(asked, answers.completions, strict=True))), count)
    figures |= {name: bootstrap_mean(np.asarray(values, dtype=float), seed=seed) for name, values in per_answer.items()}
    return {name: figures[name].model_dump() for name in NAMES if name in figures}


def compare_answers(
    model: TokenPredictor,
    start: Start,
    prompts: Sequence[str],
    *,
    max_tokens: int,
    seed: int,
    reward: Reward | None = None,
) -> dict[str, Figures]:
    """Measure the answers of the start model (`before`) and of a model that was trained from it (`after`).

    Prompts that leave no room for `max_tokens` in the window are left out. Without any other, nothing is measured.
    """
    tokenizer, window = start.trained.tokenizer, start.shape.max_seq_len
    distinct = list(dict.fromkeys(prompts))
    distinct = [distinct[i] for i in np.random.default_rng(seed).permutation(len(distinct))[:COUNT]]
    fit = [
        prompt
        for prompt, ids in zip(distinct, tokenizer.encode(distinct), strict=True)
        if 1 + len(ids) + max_tokens <= window
    ]
    if not fit:
        return {}
    first = start.trained.model.to(next(model.parameters()).device)
    return {
        when: measure_answers(
            measured, tokenizer, fit,
            start=first, count=COUNT, max_tokens=max_tokens, max_seq_len=window, seed=seed, reward=reward,
        )
        for when, measured in (("before", first), ("after", model))
    }  # fmt: skip


def as_trained(
    run: Run[Any],
    prompts: Sequence[str],
    learned: Sequence[ReadPair],
    model: TokenPredictor,
    fields: dict[str, Any],
    metrics: dict[str, Any],
) -> TrainedLanguageModel:
    """Measure the answers of a stage before and after, record them, and return its model as it is saved.

    Args:
        learned: the answers that it learned from. Measured ones have at most as many tokens as the longest of them.
    """
    start = run.start
    room = room_for_answers(learned, start.shape.max_seq_len)
    answers = compare_answers(model, start, prompts, max_tokens=room, seed=run.config.seed)
    return TrainedLanguageModel(
        config=LanguageFolderConfig(model=start.shape, **fields),
        model=model,
        tokenizer=start.trained.tokenizer,
        metrics=metrics | {"answers": answers},
    )


def exact_verdicts(answers: Rollouts) -> dict[str, list[bool]]:
    """Return what the grammar of `polarity` says of each answer, or nothing if a prompt is none of its questions.

    A cut-off answer, or one that contradicts itself, is not well formed. Only a well-formed answer is favourable. An
    answer is about the thing that it names first.
    """
    asked = [polarity.asked_about(prompt) for prompt in answers.prompts]
    if None in asked:
        return {}
    texts = [text.strip() for text in answers.completions]
    opinions = [
        polarity.read_opinion(text) if ended else None for text, ended in zip(texts, answers.ended, strict=True)
    ]
    return {
        "well_formed": [opinion is not None for opinion in opinions],
        "about": [polarity.subject_of(text) == subject for text, subject in zip(texts, asked, strict=True)],
        "favourable": [opinion is not None and opinion.favourable for opinion in opinions],
    }


def before_and_after(before: Figures, after: Figures) -> str:
    """Write the figures of two models in a line: the exact ones, or else those of form and reward."""
    names = EXACT if "well_formed" in after else ("ended", "distinct", "length", "start_logprob", "reward", "referee")
    return "; ".join(
        f"{NAMES[name]}: {_said(name, before[name]['value'])} → {_said(name, after[name]['value'])}"
        for name in names
        if name in after
    )


def _said(name: str, value: float) -> str:
    return f"{value:.0%}" if name in SHARES else f"{value:.2f}"
