"""Answers of the start model to the prompts of preferences. To learn from them, a chosen answer counts as better."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from glassformer.alignment.alignment_config import PreferenceConfig
from glassformer.alignment.preferences import ReadPreference
from glassformer.alignment.reading import ReadPair, room_for_answers
from glassformer.alignment.rollouts import Rollouts, roll_out
from glassformer.alignment.stage_run import Start
from glassformer.prediction.sampling import SamplingConfig

_MOST_SAMPLES = 2_000
_TEMPERATURE = 1.3  # above 1, samples hold more of the slips that this model sometimes makes


def sample_answers(start: Start, pairs: Sequence[ReadPreference], config: PreferenceConfig) -> list[ReadPair]:
    """Let the start model answer the prompt of each pair, of the first ones if there are many.

    Returns:
        The prompts with their answers; none if `config` wants none.
    """
    pairs = pairs[:_MOST_SAMPLES]
    if not config.corruptions or not pairs:
        return []
    prompts = [pair.prompt for pair in pairs]
    answers = answer_as_long(start, prompts, pairs, seed=config.seed, temperature=_TEMPERATURE)
    return [
        ReadPair(
            token_ids=np.concatenate([pair.chosen.token_ids[: pair.chosen.begins], ids]), begins=pair.chosen.begins
        )
        for pair, ids in zip(pairs, answers.ids_without_end, strict=True)
    ]


def answer_as_long(
    start: Start, prompts: list[str], pairs: Sequence[ReadPreference], *, seed: int, temperature: float = 1.0
) -> Rollouts:
    """Let the start model answer prompts, with as many tokens as the longest text of the pairs leaves."""
    window = start.shape.max_seq_len
    room = room_for_answers([text for pair in pairs for text in (pair.chosen, pair.rejected)], window)
    sampling = SamplingConfig(max_tokens=room, seed=seed, temperature=temperature)
    return roll_out(start.trained.model, start.trained.tokenizer, prompts, sampling, max_seq_len=window)
