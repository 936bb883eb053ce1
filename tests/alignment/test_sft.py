import json
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from glassformer.alignment.pairs import Pair, ReadPair
from glassformer.alignment.sft import Completions, pack, stack, windows
from glassformer.alignment.stage_run import Records
from glassformer.alignment.stages import fine_tune
from glassformer.data.tokenizers import PAD_ID, START_ID
from glassformer.errors import UsageError
from glassformer.models.language_model import LanguageModel
from glassformer.prediction.generation import TextGenerator
from glassformer.prediction.model_folder import LANGUAGE_MODEL, load_model
from glassformer.prediction.sampling import SamplingConfig
from glassformer.training.initial_weights import weights_fingerprint
from glassformer.training.language_modelling import IGNORED
from glassformer.training.loop import InterruptedTraining, NotANumberError
from glassformer.training.task import Cost, Examples
from tests.alignment.samples import WINDOW, figures, interrupted_after, pairs, run, settings, start
from tests.prediction.language import SMALL, random_model
from tests.training.samples import Memory

VOCAB_SIZE = 17
lengths = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=12)  # prompt, completion


def random_pairs(sizes: Sequence[tuple[int, int]], *, vocab_size: int = VOCAB_SIZE) -> list[ReadPair]:
    rng = np.random.default_rng(sum(map(sum, sizes)))
    return [
        ReadPair(
            token_ids=np.concatenate([[START_ID], rng.integers(3, vocab_size, prompt + completion)]), begins=1 + prompt
        )
        for prompt, completion in sizes
    ]


def plain_cost(model: LanguageModel, read: Sequence[ReadPair]) -> tuple[Tensor, int]:
    """The reference path: every pair alone, every token of its completion, and its end, one by one."""
    total, count = torch.zeros((), dtype=torch.float64), 0
    for pair in read:
        ids = torch.from_numpy(pair.token_ids)[None]
        logprobs = model(ids, torch.ones_like(ids, dtype=torch.bool))[0].log_softmax(-1)
        followed = [*pair.token_ids[1:].tolist(), START_ID]
        for place in range(pair.begins - 1, len(followed)):
            total = total - logprobs[place, followed[place]]
            count += 1
    return total, count


def everything(steps: Any) -> list[Examples]:
    return [examples for step in steps for examples in step()]


@pytest.mark.parametrize("positions", ["rotary", "learned", "sinusoidal", "none"])
@hypothesis.settings(max_examples=6)
@given(sizes=lengths)
def test_packed_they_cost_what_each_costs_alone(positions: str, sizes: list[tuple[int, int]]) -> None:
    model, read = random_model(VOCAB_SIZE, positions=positions, max_seq_len=11), random_pairs(sizes)
    task = Completions(read, settings(batch_size=2, accumulation=2), window=11, held_out=read)
    parts = everything(task.steps(0))
    cost = torch.stack([task.cost(model, part).loss for part in parts]).sum()
    expected, count = plain_cost(model, read)
    torch.testing.assert_close(cost.double(), expected, rtol=1e-5, atol=1e-5)
    assert sum(map(task.weight, parts)) == count
    assert sum(map(task.count, parts)) == sum(len(pair.token_ids) for pair in read)

    wanted = torch.autograd.grad(expected, list(model.parameters()), allow_unused=True)
    got = torch.autograd.grad(cost, list(model.parameters()), allow_unused=True)
    for gradient, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(gradient, other, rtol=1e-4, atol=1e-5)

    assert task.validate(model)["validation_loss"] == pytest.approx(float(expected.detach()) / count, rel=1e-5)


@given(sizes=lengths, epoch=st.integers(0, 3), fewest=st.integers(1, 9), size=st.integers(1, 3))
def test_in_each_pass_every_token_of_a_completion_counts_once_and_no_other(
    sizes: list[tuple[int, int]], epoch: int, fewest: int, size: int
) -> None:
    """Each token is one of its own, so that it can be told where it came from."""
    read, completions = [], []
    for number, (prompt, completion) in enumerate(sizes):
        ids = 1000 * (number + 1) + np.arange(prompt + completion)
        read.append(ReadPair(token_ids=np.concatenate([[START_ID], ids]), begins=1 + prompt))
        completions += ids[prompt:].tolist()
    config = settings(batch_size=size, accumulation=2, min_steps_per_epoch=fewest)
    task = Completions(read, config, window=10)
    steps = task.steps(epoch)
    found: Counter[int] = Counter()
    for examples in everything(steps):
        assert len(examples.inputs.token_ids) <= size
        assert examples.inputs.token_ids.shape[1] == examples.inputs.attention_mask.sum(dim=1).max()
        assert not examples.inputs.token_ids[~examples.inputs.attention_mask].any()
        assert PAD_ID == 0
        counts = examples.labels != IGNORED
        assert not (counts & ~examples.inputs.attention_mask).any()
        found.update(examples.labels[counts].tolist())
        for row, labels in zip(examples.inputs.token_ids.tolist(), examples.labels.tolist(), strict=True):
            for token, answer in zip([*row[1:], START_ID], labels, strict=True):
                assert answer in (token, IGNORED) or (answer, token) == (START_ID, PAD_ID)
    passes, rest = divmod(found[START_ID], len(sizes))
    assert found == Counter((completions + [START_ID] * len(sizes)) * passes)
    assert not rest
    assert len(steps) >= fewest
    assert passes == 1 or fewest > 1


def test_a_window_by_hand() -> None:
    read = [
        ReadPair(token_ids=np.array([START_ID, 5, 6, 7]), begins=2), ReadPair(token_ids=np.array([START_ID]), begins=1)
    ]  # fmt: skip
    packed = pack(read, 7)
    assert packed.token_ids.tolist() == [START_ID, 5, 6, 7, START_ID, PAD_ID, PAD_ID]
    assert packed.attention_mask.tolist() == [True] * 5 + [False] * 2
    assert packed.labels.tolist() == [IGNORED, 6, 7, START_ID, START_ID, IGNORED, IGNORED]
    assert stack([packed, pack(read[1:], 7)]).labels.tolist() == [
        [IGNORED, 6, 7, START_ID, START_ID], [START_ID, *[IGNORED] * 4]
    ]  # fmt: skip


def test_windows_are_filled_to_the_last_place() -> None:
    assert windows(random_pairs([(2, 2), (1, 3), (0, 0), (4, 4), (0, 0)]), 10) == [[0, 1], [2, 3], [4]]


def test_the_order_is_a_function_of_seed_and_epoch() -> None:
    read = random_pairs([(i % 3, i % 4) for i in range(20)])

    def shown(seed: int, epoch: int) -> list[list[list[int]]]:
        task = Completions(read, settings(seed=seed, min_steps_per_epoch=9), window=12)
        return [examples.inputs.token_ids.tolist() for examples in everything(task.steps(epoch))]

    assert shown(1, 2) == shown(1, 2)
    assert shown(1, 2) != shown(1, 3)
    assert shown(1, 2) != shown(2, 2)
    per_pass = len(Completions(read, settings(), window=12).steps(2))
    assert shown(1, 2)[:per_pass] != shown(1, 2)[per_pass : 2 * per_pass], "each pass has an order of its own"
    assert len(Completions(read, settings(min_steps_per_epoch=per_pass), window=12).steps(2)) == per_pass


def test_a_step_is_as_many_batches_as_are_accumulated() -> None:
    read = random_pairs([(3, 6)] * 14)
    steps = Completions(read, settings(batch_size=2, accumulation=3), window=10).steps(0)
    assert [[len(part.inputs.token_ids) for part in step()] for step in steps] == [[2, 2, 1], [2, 2, 1], [2, 2]]


def test_measuring_is_without_dropout_and_leaves_the_mode_as_it_was() -> None:
    model, read = random_model(VOCAB_SIZE, dropout=0.5).train(), random_pairs([(1, 2), (0, 3)])
    task = Completions(read, settings(), window=9, held_out=read)
    expected, count = plain_cost(model.eval(), read)
    assert task.validate(model.train())["validation_loss"] == pytest.approx(float(expected.detach()) / count, rel=1e-5)
    assert model.training
    assert Completions(read, settings(), window=9).validate(model) == {}


def test_the_same_seed_gives_the_same_model(tmp_path: Path) -> None:
    made, begins = [], start()
    for number, seed in enumerate([3, 3, 4]):
        torch.manual_seed(number)
        trained = fine_tune(run(tmp_path / str(number), start=begins, seed=seed), pairs(), source="here")
        made.append(weights_fingerprint(trained.model.state_dict()))
    assert made[0] == made[1] != made[2]


def test_it_learns_to_answer_and_leaves_a_model_folder(tmp_path: Path) -> None:
    began = start()
    before = {name: tensor.clone() for name, tensor in began.trained.model.state_dict().items()}
    trained = fine_tune(
        run(tmp_path, start=began, epochs=40, patience=40, learning_rate=1e-2), pairs(), source="pairs.jsonl"
    )
    loaded = load_model(tmp_path, LANGUAGE_MODEL)
    writer = TextGenerator(loaded.model, loaded.tokenizer, max_seq_len=WINDOW)
    written = writer.complete(["ask 1:", "ask 3:"], SamplingConfig(max_tokens=9, temperature=0))
    assert [(completion.text, completion.ended) for completion in written] == [(" bbb", "end"), (" ddd", "end")]

    assert loaded.config == trained.config
    assert loaded.config.data["source"] == "pairs.jsonl"
    assert (loaded.config.data["train"], loaded.config.data["held_out"], loaded.config.data["too_long"]) == (30, 0, 0)
    assert "No records were held out" in (tmp_path / "README.md").read_text()
    assert not (tmp_path / "checkpoint").exists()
    after = began.trained.model.state_dict()
    assert all(torch.equal(tensor, after[name]) for name, tensor in before.items()), "the start is as it was"
    assert loaded.config.init == {"from": "base", "fingerprint": weights_fingerprint(before)}


def test_what_was_held_out_is_measured(tmp_path: Path) -> None:
    many = [Pair(prompt=str(number), completion="x" * (WINDOW if number % 8 == 7 else 1)) for number in range(40)]
    trained = fine_tune(run(tmp_path, epochs=3, held_out=0.25), many, source="pairs.jsonl")
    best, data = trained.metrics["best"], trained.config.data
    assert data["train"] + data["held_out"] == 35
    assert 0 < data["held_out"] <= 10
    assert data["too_long"] == 5
    assert best["validation_loss"] == min(row["validation_loss"] for row in trained.metrics["history"])
    card = (tmp_path / "README.md").read_text()
    assert f"On {data['held_out']} held-out records: loss {best['validation_loss']:.4f} nats" in card
    assert json.loads((tmp_path / "metrics.json").read_text()) == trained.metrics


def test_pairs_longer_than_the_window_are_left_out_and_counted(tmp_path: Path) -> None:
    heard: list[Records] = []
    long = Pair(prompt="ask 1:", completion="b" * (WINDOW - 6))
    fine_tune(
        run(tmp_path, on_prepared=lambda records, _: heard.append(records)), [*pairs(8), long, long], source="here"
    )
    assert (heard[0].train, heard[0].held_out, heard[0].too_long, heard[0].source) == (8, 0, 2, "here")


def test_a_run_that_is_refused_leaves_nothing(tmp_path: Path) -> None:
    long = [Pair(prompt="ask", completion="b" * WINDOW)] * 3
    with pytest.raises(UsageError, match=rf"here: no record fits .* window of {WINDOW} tokens"):
        fine_tune(run(tmp_path / "out"), long, source="here")
    with pytest.raises(UsageError, match="freeze = 9"):
        fine_tune(run(tmp_path / "out", freeze=9), pairs(), source="here")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("call", [5, 2], ids=["after the first epoch", "before"])
def test_what_diverges_leaves_the_best_so_far(call: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = [Pair(prompt=str(number), completion="x") for number in range(40)]
    calls, cost = count(1), Completions.cost

    def diverges(task: Completions, model: nn.Module, examples: Examples) -> Cost:
        found = cost(task, model, examples)
        return Cost(found.loss * (torch.nan if next(calls) == call else 1))

    monkeypatch.setattr(Completions, "cost", diverges)
    if call == 5:
        with pytest.raises(NotANumberError, match=r"after step 4: .* The model of epoch 2, the best so far, is in"):
            fine_tune(run(tmp_path, epochs=3, batch_size=4), records, source="here")
        loaded = load_model(tmp_path, LANGUAGE_MODEL)
        assert (loaded.metrics["best_epoch"], len(loaded.metrics["history"])) == (2, 2)
        assert not (tmp_path / "checkpoint").exists()
    else:
        with pytest.raises(NotANumberError, match="after step 1: "):
            fine_tune(run(tmp_path, epochs=3, batch_size=4), records, source="here")
        assert not list(tmp_path.iterdir()), "nothing that could be resumed"


def test_a_model_that_fills_in_is_refused(tmp_path: Path) -> None:
    both_ways = start(SMALL.model_copy(update={"attention": "full"}))
    with pytest.raises(UsageError, match=r"base: a causal model .* fills in hidden tokens"):
        fine_tune(run(tmp_path, start=both_ways), pairs(), source="here")


def test_interrupted_and_resumed_is_uninterrupted(tmp_path: Path) -> None:
    records = [Pair(prompt=str(number), completion="x" * (number % 5)) for number in range(40)]
    whole = fine_tune(run(tmp_path / "whole", epochs=3), records, source="here")
    out = tmp_path / "out"
    with pytest.raises(InterruptedTraining):
        fine_tune(run(out, observer=interrupted_after(4), epochs=3), records, source="here")
    with pytest.raises(UsageError, match=r"this run began with .*: the records changed"):
        fine_tune(run(out, resume=True, epochs=3), records[1:], source="here")
    with pytest.raises(UsageError, match=r"this run began with .*: the weights to start from changed"):
        fine_tune(run(out, resume=True, epochs=3, start=start(seed=2)), records, source="here")
    heard = Memory()
    resumed = fine_tune(run(out, resume=True, epochs=3, observer=heard), records, source="here")
    assert heard.messages[0] == "resumed at step 5 (epoch 2)"
    assert figures(resumed.metrics["history"]) == figures(whole.metrics["history"])
    weights = whole.model.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in resumed.model.state_dict().items())
    assert not (out / "checkpoint").exists()
