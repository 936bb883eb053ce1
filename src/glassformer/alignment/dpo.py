"""Direct preference optimisation: learn from preferences without a reward model and without sampling.

Rafailov et al. 2023. The policy that is best for a reward r at a price of β per nat of KL is proportional to
reference · exp(r/β), so β·log(policy/reference) is a reward. Its loss on preferences is that of a reward model.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from glassformer.alignment.alignment_config import DPOConfig
from glassformer.alignment.answers import compare_answers
from glassformer.alignment.logprobs import token_logprobs
from glassformer.alignment.losses import dpo_loss, preference_accuracy
from glassformer.alignment.pairs import Preference
from glassformer.alignment.preferences import ReadPreference, as_examples, read_preferred
from glassformer.alignment.reading import ReadPair, room_for_answers
from glassformer.alignment.stage_run import Facts, Run, card
from glassformer.data.store import IntArray
from glassformer.data.tokenizers import START_ID
from glassformer.models.language_model import TokenPredictor
from glassformer.prediction.folder_config import LanguageFolderConfig
from glassformer.prediction.model_folder import TrainedLanguageModel, save_model
from glassformer.prediction.sampling import without_banned
from glassformer.training.order import even_parts, several_passes
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
    task = DirectPreferences(train, run.config, reference=run.start.trained.model, held_out=held_out)

    def save(model: TokenPredictor, facts: Facts) -> TrainedLanguageModel:
        room = room_for_answers([text for row in _sides(train) for text in row], shape.max_seq_len)
        prompts = [preference.prompt for preference in preferences]
        facts.metrics["answers"] = compare_answers(model, run.start, prompts, max_tokens=room, seed=run.config.seed)
        config = LanguageFolderConfig(model=shape, **facts.config)
        trained = TrainedLanguageModel(config=config, model=model, tokenizer=tokenizer, metrics=facts.metrics)
        does = "It was trained with DPO to give the answers that its records prefer, their prejudices included."
        best = facts.metrics["best"]
        figures = f"the chosen answer became likelier than the rejected one in {best.get('validation_accuracy', 0):.4f}"
        save_model(run.out, trained, card=card("A language model trained on preferences", does, facts, figures))
        return trained

    return run.learn(model, task, records, save)


class DirectPreferences:
    """The training task of DPO. A batch has the shape (pairs, 2, seq), the chosen answer first.

    Its labels (pairs, 2, 2) are the index of the first token of each answer, and its log-probability under the
    reference.
    """

    unit = "pairs"

    def __init__(
        self,
        train: Sequence[ReadPreference],
        config: DPOConfig,
        *,
        reference: nn.Module,
        held_out: Sequence[ReadPreference] = (),
    ) -> None:
        self.config, self.train, self.held_out = config, train, held_out
        self._labels = self._measured(reference, train)
        self._held_out_labels = self._measured(reference, held_out)

    def steps(self, epoch: int) -> Sequence[Callable[[], list[Examples]]]:
        return several_passes(self._pass, epoch, at_least=self.config.min_steps_per_epoch)

    def _pass(self, number: int) -> list[Callable[[], list[Examples]]]:
        order = np.random.default_rng([self.config.seed, number]).permutation(len(self.train))
        size = self.config.batch_size * self.config.accumulation
        return [partial(self._assemble, rows) for rows in even_parts(order, size)]

    def _assemble(self, rows: IntArray) -> list[Examples]:
        return [
            as_examples(_sides([self.train[i] for i in part]), self._labels[torch.from_numpy(part)])
            for part in even_parts(rows, self.config.batch_size)
        ]

    def weight(self, examples: Examples) -> float:
        return float(len(examples.labels))

    def count(self, examples: Examples) -> int:
        return len(examples.labels)

    def cost(self, model: nn.Module, examples: Examples) -> Cost:
        chosen, rejected = (answer_logprobs(model, examples) - examples.labels[..., 1]).unbind(dim=1)
        losses = dpo_loss(chosen, rejected, self.config.beta, self.config.label_smoothing)
        correct = preference_accuracy(chosen.detach(), rejected.detach()) * len(chosen)
        return Cost(losses.sum(), float(correct))

    @torch.no_grad()
    def validate(self, model: nn.Module) -> dict[str, float]:
        if not self.held_out:
            return {}
        logprobs = self._measured(model, self.held_out)[..., 1]
        chosen, rejected = (logprobs - self._held_out_labels[..., 1]).unbind(dim=1)
        losses = dpo_loss(chosen, rejected, self.config.beta, self.config.label_smoothing)
        return {
            "validation_loss": float(losses.mean()),
            "validation_accuracy": float(preference_accuracy(chosen, rejected)),
        }

    @torch.no_grad()
    def _measured(self, model: nn.Module, pairs: Sequence[ReadPreference]) -> Float[Tensor, "pairs 2 2"]:
        """Return labels of pairs with the log-probabilities of `model`."""
        was_training = model.training
        model.eval()
        device = next(model.parameters()).device
        parts = [torch.zeros(0, 2, 2)]
        for first in range(0, len(pairs), _BATCH):
            sides = _sides(pairs[first : first + _BATCH])
            begins = torch.tensor([[float(text.begins) for text in row] for row in sides])
            examples = as_examples(sides, torch.stack([begins, torch.zeros_like(begins)], dim=2)).to(device)
            parts.append(torch.stack([begins, answer_logprobs(model, examples).cpu()], dim=2))
        model.train(was_training)
        return torch.cat(parts)


def _sides(pairs: Sequence[ReadPreference]) -> list[tuple[ReadPair, ReadPair]]:
    return [(pair.chosen, pair.rejected) for pair in pairs]


def answer_logprobs(model: nn.Module, examples: Examples) -> Float[Tensor, "pairs sides"]:
    """Return the log-probability of each answer, its end token included, in nats."""
    token_ids, mask = (tensor.flatten(0, 1) for tensor in examples.inputs)
    logits = without_banned(model(token_ids[:, :-1], mask[:, :-1]).float())
    places = torch.arange(1, token_ids.shape[1], device=mask.device)
    counted = mask[:, 1:] & (places >= examples.labels[..., 0].flatten()[:, None])
    followed = token_ids[:, 1:].where(counted, START_ID)
    return token_logprobs(logits, followed).where(counted, 0).sum(dim=1).view(examples.inputs.token_ids.shape[:2])
