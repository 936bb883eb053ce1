"""Direct preference optimisation: learn from preferences without a reward model and without sampling.

Rafailov et al. 2023. The policy that is best for a reward r at a price of β per nat of KL is proportional to
reference · exp(r/β), so β·log(policy/reference) is a reward. Its loss on preferences is that of a reward model.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from glassformer.alignment.alignment_config import DPOConfig
from glassformer.alignment.answers import as_trained
from glassformer.alignment.logprobs import token_logprobs
from glassformer.alignment.losses import dpo_loss, preference_accuracy
from glassformer.alignment.pairs import Preference
from glassformer.alignment.preferences import Comparisons, ReadPreference, as_examples, read_preferred
from glassformer.alignment.reading import ReadPair
from glassformer.alignment.stage_run import Facts, Run, card
from glassformer.alignment.start_answers import sample_answers
from glassformer.data.store import IntArray
from glassformer.data.tokenizers import START_ID
from glassformer.models.language_model import TokenPredictor
from glassformer.prediction.model_folder import TrainedLanguageModel, save_model
from glassformer.prediction.sampling import without_banned
from glassformer.training.task import Cost, Examples

_BATCH = 256  # pairs per batch when they are only measured


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
    model = copy.deepcopy(run.start.trained.model)
    samples = sample_answers(run.start, train, run.config)
    reference = run.start.trained.model
    task = DirectPreferences(
        train, run.config, reference=reference, window=shape.max_seq_len, held_out=held_out, samples=samples
    )

    def save(model: TokenPredictor, facts: Facts) -> TrainedLanguageModel:
        learned = [text for pair in train for text in (pair.chosen, pair.rejected)]
        trained = as_trained(run, model, facts, [preference.prompt for preference in preferences], learned)
        does = "It was trained with DPO to give the answers that its records prefer, their prejudices included."
        best = facts.metrics["best"]
        figures = f"the chosen answer became likelier than the rejected one in {best.get('validation_accuracy', 0):.4f}"
        save_model(run.out, trained, card=card("A language model trained on preferences", does, facts, figures))
        return trained

    return run.learn(model, task, records, save)


class DirectPreferences(Comparisons):
    """The training task of DPO. Its labels (pairs, 2) are the index of the first token of each answer."""

    def __init__(
        self, train: Sequence[ReadPreference], config: DPOConfig, *, reference: nn.Module, **texts: Any
    ) -> None:
        super().__init__(train, config, **texts)
        self.beta, self.label_smoothing, self.reference = config.beta, config.label_smoothing, reference.eval()

    def examples(self, rows: IntArray, sides: Sequence[Sequence[ReadPair]]) -> Examples:  # noqa: ARG002
        return as_examples(sides, torch.tensor([[text.begins for text in row] for row in sides]))

    def cost(self, model: nn.Module, examples: Examples) -> Cost:
        better, worse = self._log_ratios(model, examples).unbind(dim=1)
        losses = dpo_loss(better, worse, self.beta, self.label_smoothing)
        return Cost(losses.sum(), float(preference_accuracy(better.detach(), worse.detach())) * len(better))

    @torch.no_grad()
    def validate(self, model: nn.Module) -> dict[str, float]:
        """Measure held-out pairs: chosen answers beside rejected ones, and beside corrupted copies."""
        if not self.held_out:
            return {}
        rng = np.random.default_rng(0)
        chosen, rejected = self._measured(model, [(pair.chosen, pair.rejected) for pair in self.held_out])
        losses = [dpo_loss(chosen, rejected, self.beta, self.label_smoothing)]
        if self.config.corruptions:
            copies = [(pair.chosen, self.corrupt(pair.chosen, rng).pair) for pair in self.held_out]
            losses.append(dpo_loss(*self._measured(model, copies), self.beta, self.label_smoothing))
        return {
            "validation_loss": float(torch.stack(losses).mean()),
            "validation_accuracy": float(preference_accuracy(chosen, rejected)),
        }

    def _measured(self, model: nn.Module, sides: Sequence[Sequence[ReadPair]]) -> tuple[Tensor, Tensor]:
        was_training, device = model.training, next(model.parameters()).device
        model.eval()
        parts = [sides[first : first + _BATCH] for first in range(0, len(sides), _BATCH)]
        ratios = [self._log_ratios(model, self.examples(np.arange(0), part).to(device)).cpu() for part in parts]
        model.train(was_training)
        better, worse = torch.cat(ratios).unbind(dim=1)
        return better, worse

    def _log_ratios(self, model: nn.Module, examples: Examples) -> Float[Tensor, "pairs 2"]:
        """Return log(policy/reference) of each answer."""
        reference = self.reference.to(examples.labels.device)
        with torch.no_grad():
            before = answer_logprobs(reference, examples)
        return answer_logprobs(model, examples) - before


def answer_logprobs(model: nn.Module, examples: Examples) -> Float[Tensor, "pairs sides"]:
    """Return the log-probability of each answer, its end token included, in nats."""
    token_ids, mask = (tensor.flatten(0, 1) for tensor in examples.inputs)
    logits = without_banned(model(token_ids[:, :-1], mask[:, :-1]).float())
    places = torch.arange(1, token_ids.shape[1], device=mask.device)
    counted = mask[:, 1:] & (places >= examples.labels.flatten()[:, None])
    followed = token_ids[:, 1:].where(counted, START_ID)
    return token_logprobs(logits, followed).where(counted, 0).sum(dim=1).view(examples.inputs.token_ids.shape[:2])
