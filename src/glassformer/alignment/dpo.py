"""Direct preference optimisation: learn from preferences without sampling and without a reward model beside it.

Rafailov et al. 2023. The policy that is best for a reward r at a price of β per nat of KL is proportional to
reference · exp(r/β), so β·log(policy/reference) is a reward. The policy is the only member of such a `RewardModel`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

from glassformer.alignment.alignment_config import DPOConfig
from glassformer.alignment.answers import as_trained
from glassformer.alignment.pairs import Preference
from glassformer.alignment.preferences import Preferences, read_preferred
from glassformer.alignment.reward_model import reward_figures_in_words
from glassformer.alignment.stage_run import Facts, Run, card
from glassformer.alignment.start_answers import sample_answers
from glassformer.models.language_model import TokenPredictor
from glassformer.models.reward import RewardModel
from glassformer.prediction.model_folder import TrainedLanguageModel, save_model


def prefer(run: Run[DPOConfig], preferences: Sequence[Preference], *, source: str) -> TrainedLanguageModel:
    """Train a causal language model to prefer the chosen answers, and write its model folder to `run.out`.

    Args:
        source: the name that the user gave for the preferences.

    Raises:
        UsageError: no record fits into the window, the folder is in use, or the model is not causal.
        InterruptedTraining, NotANumberError: see `Run.learn`.
    """
    shape, tokenizer = run.start.shape, run.start.trained.tokenizer
    train, held_out, records = run.divide(preferences, partial(read_preferred, tokenizer), source=source)
    samples = sample_answers(run.start, train, run.config)
    task = Preferences(train, run.config, window=shape.max_seq_len, held_out=held_out, samples=samples)

    def save(model: RewardModel, facts: Facts) -> TrainedLanguageModel:
        learned = [text for pair in train for text in (pair.chosen, pair.rejected)]
        policy = cast(TokenPredictor, model.members[0])
        trained = as_trained(run, policy, facts, [preference.prompt for preference in preferences], learned)
        does = "It was trained with DPO to give the answers that its records prefer, their prejudices included."
        figures = reward_figures_in_words(facts.metrics["best"]) if records.held_out else ""
        save_model(run.out, trained, card=card("A language model trained on preferences", does, facts, figures))
        return trained

    return run.learn(RewardModel(run.start.trained.model, members=1), task, records, save)
