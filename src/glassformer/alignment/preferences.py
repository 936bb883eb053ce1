"""Train a reward model on preferences between two completions (Stiennon et al. 2020, §3.4).

A reward model is the trunk of a language model with a linear head that reads the last token and gives one number. No
end token is added to the text.
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
from glassformer.training.order import even_parts, several_passes
from glassformer.training.task import Cost, Examples

_BATCH = 256  # pairs per batch when they are only measured


@dataclass(frozen=True, kw_only=True)
class ReadPreference:
    """Two texts with the same prompt as token ids, the preferred one first."""

    chosen: ReadPair
    rejected: ReadPair

    @property
    def length(self) -> int:
        """The number of tokens of the longer text."""
        return max(len(self.chosen.token_ids), len(self.rejected.token_ids))


def train_reward_model(run: Run, preferences: Sequence[Preference], *, source: str) -> TrainedRewardModel:
    """Train a reward model from a causal language model and write its model folder to `run.out`.

    Args:
        source: the name that the user gave for the preferences.

    Raises:
        UsageError: no record fits into the window, the folder is in use, or the model is not causal.
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
            "It gives a text a number. For two texts with the same prompt, σ(difference) is the probability that the "
            "first is preferred. It learned the preferences of its records, their prejudices included."
        )
        figures = reward_figures_in_words(facts.metrics["best"]) if records.held_out else ""
        save_model(run.out, trained, card=card("A glassformer reward model", does, facts, figures))
        return trained

    return run.learn(model, Preferences(train, run.config, held_out=held_out), records, save)


def reward_figures_in_words(row: Mapping[str, float]) -> str:
    """Write the held-out figures of an epoch as a sentence fragment."""
    return (
        f"accuracy {row['validation_accuracy']:.4f}, mean margin {row['validation_margin']:.3f}, "
        f"calibration error {row['validation_calibration_error']:.3f}, loss {row['validation_loss']:.4f}"
    )


def _read(tokenizer: TextTokenizer, preferences: Sequence[Preference]) -> list[ReadPreference]:
    prompts = [preference.prompt for preference in preferences]
    chosen = read_together(tokenizer, prompts, [preference.chosen for preference in preferences])
    rejected = read_together(tokenizer, prompts, [preference.rejected for preference in preferences])
    return [ReadPreference(chosen=better, rejected=worse) for better, worse in zip(chosen, rejected, strict=True)]


class Preferences:
    """The training task of a reward model: give the chosen text a higher reward than the rejected one.

    A batch has the shape (pairs, 2, seq). The two texts of a pair therefore stay together when a batch is split to
    save memory.
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
        return float(len(examples.labels))

    def count(self, examples: Examples) -> int:
        return len(examples.labels)

    def cost(self, model: nn.Module, examples: Examples) -> Cost:
        chosen, rejected = rewards_of(model, examples)
        correct = preference_accuracy(chosen.detach(), rejected.detach()) * len(chosen)
        return Cost(bradley_terry_loss(chosen, rejected).sum(), float(correct))

    def validate(self, model: nn.Module) -> dict[str, float]:
        return measure_preferences(model, self.held_out) if self.held_out else {}


@torch.inference_mode()
def measure_preferences(model: nn.Module, pairs: Sequence[ReadPreference]) -> dict[str, float]:
    """Measure a reward model on pairs that it was not trained on.

    Returns:
        The mean loss in nats, the share of pairs whose chosen text gets the higher reward, the mean margin, and the
        expected calibration error of σ(margin), the probability that the chosen text is the better one.
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
    """Return pairs as a batch of shape (pairs, 2, seq), padded on the right. Its labels are zeros and are not used."""
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
    """Return the rewards of the chosen texts and of the rejected texts."""
    rewards = model(*(tensor.flatten(0, 1) for tensor in examples.inputs)).float()
    chosen, rejected = rewards.view(-1, 2).unbind(dim=1)
    return chosen, rejected
