import math
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from glassformer.alignment import preferences as module
from glassformer.alignment.corruptions import KINDS
from glassformer.alignment.pairs import Preference, ReadPair
from glassformer.alignment.preferences import (
    Preferences,
    ReadPreference,
    answer_logprobs,
    as_examples,
    measure_preferences,
    read_preferred,
)
from glassformer.alignment.stage_run import Records
from glassformer.alignment.stages import train_reward_model
from glassformer.data.tokenizers import START_ID
from glassformer.errors import UsageError
from glassformer.models.language_model import LanguageModel
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.reward import RewardModel
from glassformer.prediction.model_folder import CLASSIFIER, LANGUAGE_MODEL, REWARD_MODEL, load_model
from glassformer.training.loop import InterruptedTraining, Trainer
from glassformer.training.task import Examples
from tests.alignment.samples import WINDOW, figures, interrupted_after, preferences, reward_run, reward_settings, start
from tests.prediction.language import SMALL, byte_tokenizer
from tests.support import double_precision, randomise

VOCAB_SIZE = 17


class Weighs(nn.Module):
    """The log-probability of a text is the sum of its tokens' weights, and under the reference it is 0."""

    def __init__(self, weights: Sequence[float]) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.tensor(weights))

    def logprobs(self, token_ids: Tensor, attention_mask: Tensor, loss_mask: Tensor) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        found = (self.weights[token_ids[:, 1:]] * loss_mask).sum(dim=1, keepdim=True)
        return found, torch.zeros(len(found))


def read(chosen: Sequence[int], rejected: Sequence[int]) -> ReadPreference:
    sides = (ReadPair(token_ids=np.array([START_ID, *ids]), begins=1) for ids in (chosen, rejected))
    return ReadPreference(prompt="", chosen=next(sides), rejected=next(sides))


def batch(pairs: Sequence[ReadPreference], *, members: int = 1) -> Examples:
    """Each pair as a row, which all members learn."""
    return as_examples([[pair.chosen, pair.rejected] for pair in pairs], torch.ones(len(pairs), members))


def task_of(pairs: Sequence[ReadPreference], **values: Any) -> Preferences:
    """Without smoothing, and without the likelihood of chosen answers, unless a value says so."""
    held_out, members = values.pop("held_out_pairs", ()), values.pop("members", 1)
    config = reward_settings(**{"label_smoothing": 0.0, "text_weight": 0.0, "beta": 1.0} | values)
    return Preferences(pairs, config, window=9, held_out=held_out, members=members)


def weighed(margins: Sequence[float]) -> tuple[Weighs, list[ReadPreference]]:
    """Pairs whose chosen side has so much more reward, whatever stands in both, and padding that would weigh much."""
    model = Weighs([99.0, 0.0, 5.0, 0.25, *margins])  # the start and end tokens are in both
    return model, [read([3] * number + [4 + number], [3] * number) for number in range(len(margins))]


def random_preferences(count: int) -> list[ReadPreference]:
    rng = np.random.default_rng(8)
    return [
        read(*(rng.integers(3, VOCAB_SIZE, rng.integers(0, 8)).tolist() for _ in range(2))) for _ in range(count)
    ]  # fmt: skip


def random_reward_model(**values: Any) -> RewardModel:
    sizes: dict[str, Any] = {"d_model": 12, "n_layers": 2, "n_heads": 3, "d_ff": 10, "max_seq_len": 9}
    with double_precision():
        language = LanguageModel(LanguageModelConfig.model_validate(sizes | values), VOCAB_SIZE)
        return randomise(RewardModel(language, 2), std=0.4).eval()


def test_a_batch_by_hand() -> None:
    examples = batch([read([5, 6], [7]), read([], [8, 9])])
    assert examples.inputs.token_ids.tolist() == [[[2, 5, 6, 2], [2, 7, 2, 0]], [[2, 2, 0, 0], [2, 8, 9, 2]]]
    assert examples.inputs.attention_mask.tolist() == [
        [[True] * 4, [True, True, True, False]], [[True, True, False, False], [True] * 4]
    ]  # fmt: skip
    assert examples.labels.tolist() == [[1, 1, 1], [1, 1, 1]], "where the answers begin, and a weight"
    assert read([5, 6], [7]).length == read([7], [5, 6]).length == 4, "with the end token"


def test_the_loss_by_hand() -> None:
    """−log σ(margin): log 2 for none, log(4/3) where the chosen one is thrice as likely, log 4 where the other is."""
    model, pairs = weighed([0.0, math.log(3), -math.log(3)])
    task = task_of(pairs)
    cost = task.cost(model, batch(pairs))
    assert cost.loss.item() == pytest.approx(math.log(2) + math.log(4 / 3) + math.log(4))
    assert cost.correct == 1.5, "a tie is half right"
    assert (task.weight(batch(pairs)), task.count(batch(pairs))) == (3, 3)
    (found,) = torch.autograd.grad(cost.loss, model.weights)
    torch.testing.assert_close(found[4:], -torch.tensor([1 / 2, 1 / 4, 3 / 4]))  # −σ(−margin)


def test_what_is_measured_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    third = math.log(3)  # σ is ¾
    model, pairs = weighed([third, third, -third, third])
    found = measure_preferences(model, pairs, 1.0)
    assert found == pytest.approx({
        "validation_loss": (3 * math.log(4 / 3) + math.log(4)) / 4,
        "validation_accuracy": 0.75,
        "validation_margin": third / 2,
        "validation_calibration_error": 0.0,
    }, abs=1e-6)  # fmt: skip
    monkeypatch.setattr(module, "_BATCH", 3)
    assert measure_preferences(model, pairs, 1.0) == pytest.approx(found)

    model, pairs = weighed([third, -third, -third, 0.0])
    assert measure_preferences(model, pairs, 1.0)["validation_accuracy"] == pytest.approx(1.5 / 4), (
        "a tie is half right"
    )
    assert measure_preferences(model, pairs[:3], 1.0)["validation_calibration_error"] == pytest.approx(3 / 4 - 1 / 3)


def test_measuring_is_without_dropout_and_leaves_the_mode_as_it_was() -> None:
    model, pairs = random_reward_model(dropout=0.5), random_preferences(5)
    expected = measure_preferences(model, pairs, 1.0)
    assert measure_preferences(model.train(), pairs, 1.0) == expected
    assert model.training
    assert task_of(pairs).validate(model) == {}
    assert task_of(pairs, corruptions=False, held_out_pairs=pairs).validate(model) == expected
    with_corruptions = task_of(pairs, held_out_pairs=pairs).validate(model)
    possible = {kind for kind in KINDS if kind != "off_subject"}  # all have the same prompt
    assert {f"above_{kind}" for kind in possible} == with_corruptions.keys() - expected.keys()


def test_a_batch_of_pairs_costs_what_each_costs_alone() -> None:
    model, pairs = random_reward_model(), random_preferences(11)
    task = task_of(pairs, text_weight=0.5, label_smoothing=0.1)
    together = batch(pairs, members=2)
    cost = task.cost(model, together)
    apart = [task.cost(model, batch([pair], members=2)) for pair in pairs]
    torch.testing.assert_close(cost.loss, torch.stack([part.loss for part in apart]).sum())
    assert cost.correct == pytest.approx(sum(part.correct or 0 for part in apart))


def test_a_member_learns_nothing_from_a_pair_that_it_leaves_out() -> None:
    model, pairs = random_reward_model(), random_preferences(1)
    examples = as_examples([[pairs[0].chosen, pairs[0].rejected]], torch.tensor([[1.0, 0.0]]))
    task_of(pairs, text_weight=1.0).cost(model, examples).loss.backward()
    learned, leaves_out = (member.get_parameter("trunk.embedding.weight").grad for member in model.members)
    assert learned is not None
    assert learned.abs().sum() > 0
    assert leaves_out is None or leaves_out.abs().sum() == 0


def test_a_chosen_answer_meets_other_worse_answers_too() -> None:
    """Corrupted copies and samples of the start model, beside the rejected answer."""
    pairs = [read([5, 6, 7, 8], [9, 10, 11])] * 200
    sample = ReadPair(token_ids=np.array([START_ID, 12]), begins=1)

    def worse(epoch: int, *, corruptions: bool = True) -> Counter[str]:
        config = reward_settings(corruptions=corruptions)
        task = Preferences(pairs, config, window=WINDOW, samples=[sample] * 200)
        rows = [row for step in task.steps(epoch) for part in step() for row in part.inputs.token_ids[:, 1].tolist()]
        texts = [tuple(token for token in row if token)[1:-1] for row in rows]
        names = {(9, 10, 11): "rejected", (12,): "sample"}
        return Counter(names.get(text, "corrupted") for text in texts)

    assert worse(2, corruptions=False) == {"rejected": 200}
    found = worse(2)
    assert 40 < found["rejected"] < 100
    assert 25 < found["sample"] < 80
    assert 50 < found["corrupted"] < 110
    assert worse(2) == found, "an epoch can be repeated"


def test_each_pass_shows_every_pair_once() -> None:
    pairs = [read([3 + number], [4]) for number in range(14)]

    def shown(**values: Any) -> list[list[list[int]]]:
        """Which pairs, by step and batch."""
        task = task_of(pairs, batch_size=2, accumulation=3, corruptions=False, **values)
        return [[part.inputs.token_ids[:, 0, 1].tolist() for part in step()] for step in task.steps(4)]

    once = shown()
    assert [[len(part) for part in step] for step in once] == [[2, 2, 1], [2, 2, 1], [2, 2]]
    assert sorted(chain(*chain(*once))) == list(range(3, 17))
    assert shown() == once
    assert shown(seed=5) != once
    twice = shown(min_steps_per_epoch=4)
    assert twice[:3] == once
    assert sorted(chain(*chain(*twice[3:]))) == list(range(3, 17))
    assert twice[3:] != once


def test_when_memory_runs_out_the_two_of_a_pair_stay_together() -> None:
    """A step computed in parts is the same step."""
    pairs, steps = random_preferences(7), []
    for parts in (1, 3, 7):
        model = random_reward_model(dropout=0.0)
        torch.manual_seed(2)
        randomise(model, std=0.4)
        config = reward_settings(batch_size=7, max_steps=1, learning_rate=0.01, optimizer="sgd", members=2)
        trainer = Trainer(model, Preferences(pairs, config, window=WINDOW, members=2), config)
        trainer.state.micro_batches = parts
        trainer.run()
        steps.append(model.state_dict())
    for name, tensor in steps[0].items():
        torch.testing.assert_close(tensor, steps[1][name], rtol=1e-6, atol=1e-7)
        torch.testing.assert_close(tensor, steps[2][name], rtol=1e-6, atol=1e-7)


def test_it_learns_a_preference_and_leaves_a_folder(tmp_path: Path) -> None:
    heard: list[Records] = []
    long = Preference(prompt="it is", chosen="x" * WINDOW, rejected="y")
    trained = train_reward_model(
        reward_run(
            tmp_path, epochs=14, patience=14, learning_rate=2e-2, held_out=0.2, batch_size=8,
            on_prepared=lambda records, _: heard.append(records),
        ),
        [*preferences(60), long], source="preferences.jsonl",
    )  # fmt: skip
    best, data = trained.metrics["best"], trained.config.data
    assert best["validation_accuracy"] == 1
    assert best["validation_margin"] > 1
    assert (data["train"] + data["held_out"], data["too_long"], data["source"]) == (60, 1, "preferences.jsonl")
    assert (heard[0].train, heard[0].held_out, heard[0].too_long) == (data["train"], data["held_out"], 1)
    assert "accuracy 1.0000, mean margin" in (tmp_path / "README.md").read_text()

    loaded = load_model(tmp_path, REWARD_MODEL)
    assert loaded.config == trained.config
    assert loaded.metrics == trained.metrics
    texts = batch(
        read_preferred(loaded.tokenizer, [Preference(prompt="", chosen=" all good 61", rejected=" all bad 61")])
    )
    logprobs, before, _ = answer_logprobs(loaded.model, texts)
    (chosen, rejected) = (logprobs - before[..., None])[0]
    assert (chosen > rejected).all()
    assert torch.equal(answer_logprobs(trained.model, texts)[0], logprobs)


def test_it_starts_from_the_language_model(tmp_path: Path) -> None:
    begins = start()
    trained = train_reward_model(
        reward_run(tmp_path, start=begins, max_steps=1, learning_rate=1e-12), preferences(), source="here"
    )
    for member in trained.model.members:
        weights = member.state_dict()
        for name, tensor in begins.trained.model.state_dict().items():
            torch.testing.assert_close(weights[name], tensor, rtol=0, atol=1e-9)
    assert trained.config.init == begins.record


def test_a_reward_model_is_no_other_model(tmp_path: Path) -> None:
    train_reward_model(reward_run(tmp_path, epochs=1), preferences(), source="here")
    with pytest.raises(UsageError, match="holds a reward model; a language model is needed here"):
        load_model(tmp_path, LANGUAGE_MODEL)
    with pytest.raises(UsageError, match="holds a reward model; a classifier is needed here"):
        load_model(tmp_path, CLASSIFIER)


def test_interrupted_and_resumed_is_uninterrupted(tmp_path: Path) -> None:
    values: dict[str, Any] = {"epochs": 3, "held_out": 0.4, "corruptions": True}
    whole = train_reward_model(reward_run(tmp_path / "whole", **values), preferences(), source="here")
    out = tmp_path / "out"
    with pytest.raises(InterruptedTraining):
        train_reward_model(reward_run(out, observer=interrupted_after(9), **values), preferences(), source="here")
    resumed = train_reward_model(reward_run(out, resume=True, **values), preferences(), source="here")
    assert figures(resumed.metrics["history"]) == figures(whole.metrics["history"])
    weights = whole.model.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in resumed.model.state_dict().items())


def test_none_that_fits(tmp_path: Path) -> None:
    long = [Preference(prompt="", chosen="x", rejected="y" * WINDOW)] * 12
    with pytest.raises(UsageError, match="here: no record fits"):
        train_reward_model(reward_run(tmp_path / "out"), long, source="here")
    assert not (tmp_path / "out").exists()
    fits = [Preference(prompt="", chosen="x", rejected="y" * (WINDOW - 2))]
    assert batch(read_preferred(byte_tokenizer(), fits)).inputs.token_ids.shape[2] == SMALL.max_seq_len
