"""The training task of reward models and DPO: of two answers to a prompt, give the better one the higher reward.

The reward of an answer is β·log(model/reference) (see `RewardModel`), so a reward model of one member is a policy
trained with DPO. The worse of two answers is the rejected one, a corrupted copy of the chosen one, or an answer of the
start model. Each of several members leaves out other pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.special import expit
from torch import Tensor, nn

from glassformer.alignment.alignment_config import PreferenceConfig
from glassformer.alignment.corruptions import KINDS, Corruptor
from glassformer.alignment.losses import bradley_terry_loss, preference_accuracy
from glassformer.alignment.pairs import Preference, ReadPair, read_together
from glassformer.data.arrays import IntArray
from glassformer.data.batches import ModelInputs
from glassformer.data.tokenizers import PAD_ID, START_ID, TextTokenizer
from glassformer.evaluation.metrics import reliability
from glassformer.training.order import even_parts, several_passes
from glassformer.training.task import Cost, Examples

_BATCH = 256  # pairs per batch when they are only measured
_LEFT_OUT = 0.3  # of the pairs, by each member of several
_REJECTED = 0.35  # of the worse answers are rejected ones
_SAMPLED = 0.25  # of them are answers of the start model; the others are corrupted copies


@dataclass(frozen=True, kw_only=True)
class ReadPreference:
    """Two answers to the same prompt as token ids, the preferred one first."""

    prompt: str
    chosen: ReadPair
    rejected: ReadPair

    @property
    def length(self) -> int:
        """The number of tokens of the longer text, its end token included."""
        return max(self.chosen.length, self.rejected.length) + 1


def read_preferred(tokenizer: TextTokenizer, preferences: Sequence[Preference]) -> list[ReadPreference]:
    """Encode preferences."""
    prompts = [preference.prompt for preference in preferences]
    chosen = read_together(tokenizer, prompts, [preference.chosen for preference in preferences])
    rejected = read_together(tokenizer, prompts, [preference.rejected for preference in preferences])
    return [
        ReadPreference(prompt=prompt, chosen=better, rejected=worse)
        for prompt, better, worse in zip(prompts, chosen, rejected, strict=True)
    ]


class Preferences:
    """The task of a `RewardModel`. Its batches have the shape (pairs, 2, seq), the better answer first.

    So a pair stays together when a batch is split. The labels (pairs, 2 + members) are the index of the first token of
    each answer, and the weight of the pair for each member.

    Args:
        window: the most tokens of a text, its end token included.
        samples: an answer of the start model for each of the first pairs. A chosen answer is better, or as good.
    """

    unit = "pairs"

    def __init__(
        self,
        train: Sequence[ReadPreference],
        config: PreferenceConfig,
        *,
        window: int,
        held_out: Sequence[ReadPreference] = (),
        samples: Sequence[ReadPair] = (),
        members: int = 1,
    ) -> None:
        self.train, self.config, self.held_out, self.samples = train, config, held_out, samples
        self.corrupt = Corruptor([pair.chosen for pair in train], window=window - 1)
        left_out = _LEFT_OUT if members > 1 else 0.0
        drawn = np.random.default_rng([config.seed, 1]).random((len(train), members))
        self._weights = torch.from_numpy((drawn >= left_out) / (1 - left_out)).float()  # (pairs, members)

    def steps(self, epoch: int) -> Sequence[Callable[[], list[Examples]]]:
        return several_passes(self._pass, epoch, at_least=self.config.min_steps_per_epoch)

    def _pass(self, number: int) -> list[Callable[[], list[Examples]]]:
        order = np.random.default_rng([self.config.seed, number]).permutation(len(self.train))
        size = self.config.batch_size * self.config.accumulation
        return [partial(self._assemble, rows, number) for rows in even_parts(order, size)]

    def _assemble(self, rows: IntArray, number: int) -> list[Examples]:
        parts = even_parts(rows, self.config.batch_size)
        return [
            as_examples([self._sides(int(row), number) for row in part], self._weights[torch.from_numpy(part)])
            for part in parts
        ]

    def _sides(self, row: int, number: int) -> list[ReadPair]:
        """Return the chosen text of a pair and a worse one, another in each pass."""
        pair = self.train[row]
        if not self.config.corruptions:
            return [pair.chosen, pair.rejected]
        rng = np.random.default_rng([self.config.seed, number, row])
        drawn = rng.random()
        if drawn < _REJECTED:
            return [pair.chosen, pair.rejected]
        if row < len(self.samples) and drawn < _REJECTED + _SAMPLED:
            return [pair.chosen, self.samples[row]]
        return [pair.chosen, self.corrupt(pair.chosen, rng).pair]

    def weight(self, examples: Examples) -> float:
        return float(len(examples.labels))

    def count(self, examples: Examples) -> int:
        return len(examples.labels)

    def cost(self, model: nn.Module, examples: Examples) -> Cost:
        """−log σ(β·(better − worse)), smoothed, − `text_weight` · mean log-probability of a token of the better answer.

        That is the sum of DPO (Rafailov et al. 2023, eq. 7) and the likelihood of the chosen answer (Pang et al. 2024).
        """
        config, weights = self.config, examples.labels[:, 2:]
        logprobs, reference_logprobs, lengths = answer_logprobs(model, examples)
        better, worse = (config.beta * (logprobs - reference_logprobs[..., None])).unbind(dim=1)  # (pairs, members)
        per_token = logprobs[:, 0] / lengths[:, :1]
        losses = bradley_terry_loss(better, worse, config.label_smoothing) - config.text_weight * per_token
        correct = preference_accuracy(better.detach().mean(dim=1), worse.detach().mean(dim=1)) * len(better)
        return Cost((losses * weights).mean(dim=1).sum(), float(correct))

    def validate(self, model: nn.Module) -> dict[str, float]:
        """Measure held-out pairs by the preference alone, without smoothing and without the likelihood."""
        if not self.held_out:
            return {}
        figures = measure_preferences(model, self.held_out, self.config.beta)
        if self.config.corruptions:
            corrupted = measure_corruptions(model, self.held_out, self.corrupt, self.config.beta)
            ranks = {name: value for name, value in corrupted.items() if name != "loss"}
            figures |= ranks | {"validation_loss": (figures["validation_loss"] + corrupted["loss"]) / 2}
        return figures


def measure_preferences(model: nn.Module, pairs: Sequence[ReadPreference], beta: float) -> dict[str, float]:
    """Measure a reward model on pairs that it was not trained on.

    Args:
        beta: units of reward per nat of log(member/reference).

    Returns:
        The mean loss in nats, the share of pairs whose chosen text gets the higher reward, the mean margin, and the
        expected calibration error of σ(margin), the probability that the chosen text is the better one. The last three
        are of the mean of all members.
    """
    rewards = _measured(model, [[pair.chosen, pair.rejected] for pair in pairs], beta)
    chosen, rejected = rewards.mean(dim=2).unbind(dim=1)
    sure = expit(np.abs((chosen - rejected).double().numpy()))
    return {
        "validation_loss": float(bradley_terry_loss(rewards[:, 0], rewards[:, 1]).mean()),
        "validation_accuracy": float(preference_accuracy(chosen, rejected)),
        "validation_margin": float((chosen - rejected).mean()),
        "validation_calibration_error": reliability(sure, (chosen > rejected).numpy()).ece,
    }


def measure_corruptions(
    model: nn.Module, pairs: Sequence[ReadPreference], corrupt: Corruptor, beta: float
) -> dict[str, float]:
    """Measure how a reward model ranks corrupted copies, in each way, of answers that it was not trained on.

    Returns:
        For each kind that changes any answer, the share of chosen answers that get a higher reward than their corrupted
        copy, and the mean loss of all these comparisons.
    """
    figures, losses = {}, []
    for number, kind in enumerate(KINDS):
        rng = np.random.default_rng(number)
        copies = [(pair, corrupt(pair.chosen, rng, kind=kind)) for pair in pairs]
        sides = [[pair.chosen, copy.pair] for pair, copy in copies if copy.kind == kind]  # others did not change
        if not sides:
            continue
        rewards = _measured(model, sides, beta)
        losses.append(float(bradley_terry_loss(rewards[:, 0], rewards[:, 1]).mean()))
        figures[f"above_{kind}"] = float(preference_accuracy(*rewards.mean(dim=2).unbind(dim=1)))
    return figures | {"loss": float(np.mean(losses))}


@torch.inference_mode()
def _measured(model: nn.Module, rows: Sequence[list[ReadPair]], beta: float) -> Float[Tensor, "pairs sides members"]:
    """Return rewards as the loss of training has them."""
    was_training = model.training
    model.eval()
    device, found = next(model.parameters()).device, []
    for first in range(0, len(rows), _BATCH):
        part = rows[first : first + _BATCH]
        logprobs, reference_logprobs, _ = answer_logprobs(model, as_examples(part, torch.ones(len(part), 1)).to(device))
        found.append(beta * (logprobs - reference_logprobs[..., None]))
    model.train(was_training)
    return torch.cat(found).cpu()


def as_examples(rows: Sequence[Sequence[ReadPair]], weights: Float[Tensor, "rows members"]) -> Examples:
    """Return texts with their end tokens as a batch of shape (rows, sides, seq), padded on the right."""
    longest = 1 + max(text.length for row in rows for text in row)
    token_ids = np.full((len(rows), len(rows[0]), longest), PAD_ID, dtype=np.int64)
    mask = np.zeros(token_ids.shape, dtype=bool)
    for number, row in enumerate(rows):
        for side, text in enumerate(row):
            token_ids[number, side, : text.length + 1] = [*text.token_ids, START_ID]
            mask[number, side, : text.length + 1] = True
    begins = torch.tensor([[text.begins for text in row] for row in rows])
    labels = torch.cat([begins.float(), weights], dim=1)
    return Examples(ModelInputs(torch.from_numpy(token_ids), torch.from_numpy(mask)), labels)


def answer_logprobs(
    model: Any, examples: Examples
) -> tuple[Float[Tensor, "pairs sides members"], Float[Tensor, "pairs sides"], Int[Tensor, "pairs sides"]]:
    """Read both answers of each pair.

    Args:
        model: a `RewardModel`, or a stand-in with its method `logprobs`.

    Returns:
        The log-probability of each answer under each member and under the reference, and its number of tokens.
    """
    pairs, sides, _ = examples.inputs.token_ids.shape
    token_ids, mask = (tensor.flatten(0, 1) for tensor in examples.inputs)
    begins = examples.labels[:, :sides].flatten()[:, None]
    loss_mask = mask[:, 1:] & (torch.arange(1, token_ids.shape[1], device=mask.device) >= begins)
    logprobs, reference_logprobs = model.logprobs(token_ids, mask, loss_mask)
    lengths = loss_mask.sum(dim=1)
    return logprobs.view(pairs, sides, -1), reference_logprobs.view(pairs, sides), lengths.view(pairs, sides)
