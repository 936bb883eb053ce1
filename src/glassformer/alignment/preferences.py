"""The reward model learns which of two completions was preferred (Stiennon et al. 2020, §3.4).

It is the trunk of a language model with a head of one number on the last token; no end token stands after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from scipy.special import expit
from torch import Tensor, nn

from glassformer.alignment.alignment_config import FineTuningConfig
from glassformer.alignment.losses import bradley_terry_loss, preference_accuracy, preference_margin
from glassformer.alignment.pairs import Preference
from glassformer.alignment.reading import ReadPair, read_together
from glassformer.alignment.stage_run import Facts, Run, card
from glassformer.data.batches import ModelInputs
from glassformer.data.store import IntArray
from glassformer.data.tokenizers import PAD_ID, TextTokenizer
from glassformer.evaluation.reliability import reliability
from glassformer.models.reward import RewardModel
from glassformer.prediction.folder_config import RewardFolderConfig
from glassformer.prediction.model_folder import TrainedRewardModel, save_model
from glassformer.training.loop import Cost, Examples
from glassformer.training.order import even_parts, several_passes

_BATCH = 256  # pairs, where nothing is learned from them


@dataclass(frozen=True, kw_only=True)
class ReadPreference:
    """Two texts of one prompt, the better one first."""

    chosen: ReadPair
    rejected: ReadPair

    @property
    def length(self) -> int:
        """Tokens of the longer one."""
        return max(len(self.chosen.token_ids), len(self.rejected.token_ids))


def train_reward_model(run: Run, preferences: Sequence[Preference], *, source: str) -> TrainedRewardModel:
    """Teach the trunk of a causal language model to judge; leave the model folder of a reward model in `run.out`.

    Args:
        source: what the user called the preferences.

    Raises:
        UsageError: no record fits into the window, the folder is taken, or the model is not causal.
        InterruptedTraining, NotANumberError: see `Run.learn`.
    """
    shape, tokenizer = run.start.shape, run.start.trained.tokenizer
    train, held_out, records = run.divide(preferences, partial(_read, tokenizer), source=source)
    model = RewardModel(shape, tokenizer.vocab_size)
    model.load_state_dict(run.start.trained.model.state_dict(), strict=False)  # all but the head

    def save(model: nn.Module, facts: Facts) -> TrainedRewardModel:
        config = RewardFolderConfig(model=shape, **facts.config)
        trained = TrainedRewardModel(config=config, model=model, tokenizer=tokenizer, metrics=facts.metrics)
        does = (
            "It gives a text a number: of two texts of one prompt, σ(difference) is the chance that the one was "
            "preferred. It knows what its records prefer, their prejudices included."
        )
        figures = figures_in_words(facts.metrics["best"]) if records.held_out else ""
        save_model(run.out, trained, card=card("A glassformer reward model", does, facts, figures))
        return trained

    return run.learn(model, Preferences(train, run.config, held_out=held_out), records, save)


def figures_in_words(row: Mapping[str, float]) -> str:
    """The held-out figures of an epoch."""
    return (
        f"accuracy {row['validation_accuracy']:.4f}, mean margin {row['validation_margin']:.3f}, "
        f"calibration error {row['validation_calibration_error']:.3f}, loss {row['validation_loss']:.4f}"
    )


def _read(tokenizer: TextTokenizer, preferences: Sequence[Preference]) -> list[ReadPreference]:
    prompts = [one.prompt for one in preferences]
    chosen = read_together(tokenizer, prompts, [one.chosen for one in preferences])
    rejected = read_together(tokenizer, prompts, [one.rejected for one in preferences])
    return [ReadPreference(chosen=one, rejected=other) for one, other in zip(chosen, rejected, strict=True)]


class Preferences:
    """The task of giving the chosen of two texts the higher reward.

    A batch is (pairs, 2, seq), so that the two of a pair stay together when memory forces it apart.
    """

    unit = "pairs"

    def __init__(
        self, train: Sequence[ReadPreference], config: FineTuningConfig, *, held_out: Sequence[ReadPreference] = ()
    ) -> None:
        self.train, self.config, self.held_out = train, config, held_out

    def steps(self, epoch: int) -> Sequence[Callable[[], list[Examples]]]:
        return several_passes(self._pass, epoch, at_least=self.config.min_steps_per_epoch)

    def _pass(self, number: int) -> list[Callable[[], list[Examples]]]:
        order = np.random.default_rng([self.config.seed, number]).permutation(len(self.train))
        size = self.config.batch_size * self.config.accumulation
        return [partial(self._assemble, rows) for rows in even_parts(order, size)]

    def _assemble(self, rows: IntArray) -> list[Examples]:
        return [as_examples([self.train[i] for i in part]) for part in even_parts(rows, self.config.batch_size)]

    def weight(self, examples: Examples) -> float:
        return float(len(examples.answers))

    def count(self, examples: Examples) -> int:
        return len(examples.answers)

    def cost(self, model: nn.Module, examples: Examples) -> Cost:
        chosen, rejected = rewards_of(model, examples)
        correct = preference_accuracy(chosen.detach(), rejected.detach()) * len(chosen)
        return Cost(bradley_terry_loss(chosen, rejected).sum(), float(correct))

    def validate(self, model: nn.Module) -> dict[str, float]:
        return measure_preferences(model, self.held_out) if self.held_out else {}


@torch.inference_mode()
def measure_preferences(model: nn.Module, pairs: Sequence[ReadPreference]) -> dict[str, float]:
    """How a reward model does on pairs that it did not learn from.

    Returns:
        Mean loss in nats; share of pairs judged as people did; mean margin; and the expected calibration error of
        σ(margin), the probability that the chosen one is the better.
    """
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    both = [
        rewards_of(model, as_examples(pairs[start : start + _BATCH]).to(device))
        for start in range(0, len(pairs), _BATCH)
    ]
    model.train(was_training)
    chosen, rejected = (torch.cat(side).float().cpu() for side in zip(*both, strict=True))
    sure = expit(np.abs((chosen - rejected).double().numpy()))
    return {
        "validation_loss": float(bradley_terry_loss(chosen, rejected).mean()),
        "validation_accuracy": float(preference_accuracy(chosen, rejected)),
        "validation_margin": float(preference_margin(chosen, rejected)),
        "validation_calibration_error": reliability(sure, (chosen > rejected).numpy()).ece,
    }


def as_examples(pairs: Sequence[ReadPreference]) -> Examples:
    """(pairs, 2, seq), padded on the right; there is nothing to answer."""
    texts = [(pair.chosen.token_ids, pair.rejected.token_ids) for pair in pairs]
    longest = max(len(ids) for both in texts for ids in both)
    token_ids = np.full((len(texts), 2, longest), PAD_ID, dtype=np.int64)
    mask = np.zeros(token_ids.shape, dtype=bool)
    for row, both in enumerate(texts):
        for side, ids in enumerate(both):
            token_ids[row, side, : len(ids)] = ids
            mask[row, side, : len(ids)] = True
    return Examples(ModelInputs(torch.from_numpy(token_ids), torch.from_numpy(mask)), torch.zeros(len(texts)))


def rewards_of(model: nn.Module, examples: Examples) -> tuple[Float[Tensor, " pairs"], Float[Tensor, " pairs"]]:
    """Of the chosen and of the rejected texts."""
    rewards = model(*(tensor.flatten(0, 1) for tensor in examples.inputs)).float()
    chosen, rejected = rewards.view(-1, 2).unbind(dim=1)
    return chosen, rejected
