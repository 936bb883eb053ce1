import itertools
import math
import signal
import threading
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from glassformer.data.batches import ModelInputs, assemble
from glassformer.data.windows import random_windows
from glassformer.errors import GlassformerError
from glassformer.prediction.scoring import score
from glassformer.training.classification import Classification
from glassformer.training.loop import InterruptedTraining, NotANumberError, Trainer
from glassformer.training.optimizers import build_optimizers, computes_in_bfloat16, learning_rate
from glassformer.training.task import Examples
from glassformer.training.training_config import TrainingConfig
from tests.training.samples import N_CLASSES, SMALL, STILL, Memory, config, toy_data, trainer

OUT_OF_MEMORY = {
    "cuda": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    "cpu": RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
    "onednn": RuntimeError("could not create a primitive"),
    "python": MemoryError(),
}


def weights(of: Trainer[Any]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in of.model.state_dict().items()}


def assert_close(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    for name, tensor in one.items():
        torch.testing.assert_close(tensor, other[name], rtol=1e-4, atol=1e-5, msg=name)


def whole_batch(**values: Any) -> TrainingConfig:
    """One step per epoch over all rows, with nothing random."""
    return config(batch_size=500, batch_tokens=100_000, token_dropout=0.0, **values)


def see_inputs(of: Trainer[Any]) -> list[Tensor]:
    """The token ids that the model is shown in training."""
    seen: list[Tensor] = []
    of.model.register_forward_pre_hook(
        lambda model, arguments: seen.append(arguments[0].clone()) if model.training else None
    )
    return seen


@pytest.mark.parametrize("multilabel", [False, True])
def test_learns_and_reports(multilabel: bool) -> None:
    memory = Memory()
    training = config(epochs=6, learning_rate=0.01)
    history = trainer(training, data=toy_data(multilabel=multilabel), observer=memory).run()
    assert history == memory.epochs
    assert [row["epoch"] for row in history] == [1, 2, 3, 4, 5, 6]
    assert history[-1]["train_loss"] < history[0]["train_loss"] * 0.7
    assert history[-1]["validation_loss"] < history[0]["validation_loss"]
    assert history[-1]["validation_accuracy"] > 0.9
    assert {report.epochs for report in memory.steps} == {6}
    assert [report.step_of_epoch for report in memory.steps if report.epoch == 2] == list(
        range(1, memory.steps[0].steps_per_epoch + 1)
    )
    assert all(0 <= report.padding < 1 and report.speed > 0 and report.unit == "texts" for report in memory.steps)
    assert memory.steps[-1].seconds_left == pytest.approx(0)
    assert memory.steps[0].seconds_left > 0


def test_what_is_done_once_does_not_count_as_the_time_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0.0, 0.001)

    def slow(*arguments: Any) -> Any:
        nonlocal clock
        clock = itertools.count(1e6, 0.001)  # importing PyTorch's compiler takes long
        return build_optimizers(*arguments)

    monkeypatch.setattr("glassformer.training.loop.build_optimizers", slow)
    monkeypatch.setattr("glassformer.training.loop.time.perf_counter", lambda: next(clock))
    memory = Memory()
    trainer(config(), observer=memory).run()
    assert 0 < memory.steps[0].seconds < 1


@pytest.mark.parametrize("multilabel", [False, True])
def test_before_training_the_loss_is_that_of_guessing(multilabel: bool) -> None:
    memory = Memory()
    trainer(config(), data=toy_data(multilabel=multilabel), observer=memory).run()
    assert memory.steps[0].loss == pytest.approx(math.log(2 if multilabel else N_CLASSES), abs=0.1)


@pytest.mark.parametrize("order", ["bucketed", "shuffled", "as-given"])
def test_every_row_is_read_once_per_epoch(order: str) -> None:
    data = toy_data(n_validation=0)
    run = trainer(config(epochs=1, token_dropout=0.0, order=order), data=data)
    seen = see_inputs(run)
    run.run()
    lengths = Counter(int((row != 0).sum()) for batch in seen for row in batch)
    assert lengths == Counter(min(int(length) + 1, 24) for length in data.train.lengths)


def test_rows_as_given_come_one_after_another() -> None:
    data = toy_data(n_validation=0)
    run = trainer(config(epochs=2, token_dropout=0.0, order="as-given", batch_size=1), data=data)
    seen = see_inputs(run)
    run.run()
    first = [data.train.tokens[start] for start in data.train.offsets[:-1]]
    short = data.train.lengths < 24  # of a longer row a random window is shown
    shown = np.array([int(batch[0, 1]) for batch in seen]).reshape(2, -1)
    assert (shown[:, short] == np.array(first)[short]).all()


@pytest.mark.parametrize("optimizer", ["adamw", "muon", "sgd"])
def test_accumulated_batches_are_one_large_batch(optimizer: str) -> None:
    data = replace(toy_data(24), class_weights=torch.tensor([0.5, 1.0, 3.0]))
    shared: dict[str, Any] = {"epochs": 3, "token_dropout": 0.0, "label_smoothing": 0.1, "optimizer": optimizer}
    large = trainer(config(batch_size=24, **shared), data=data, model=STILL, randomised=True)
    small = trainer(config(batch_size=3, accumulation=8, **shared), data=data, model=STILL, randomised=True)
    before = weights(large)
    histories = large.run(), small.run()
    assert [row["step"] for row in histories[0]] == [row["step"] for row in histories[1]] == [1, 2, 3]
    for row, other in zip(*histories, strict=True):
        assert row["train_loss"] == pytest.approx(other["train_loss"], rel=1e-5)
    assert_close(weights(large), weights(small))
    assert not torch.equal(before["head.weight"], weights(large)["head.weight"])


@pytest.mark.parametrize("parts", [2, 4, 16])
def test_parts_of_a_batch_give_its_gradient(parts: int) -> None:
    data = replace(toy_data(11), class_weights=torch.tensor([0.5, 1.0, 3.0]))
    run = trainer(whole_batch(), data=data, model=STILL, randomised=True)
    (whole,) = (step() for step in run.task.steps(0))
    halves = [
        Examples(ModelInputs(*(tensor[half] for tensor in whole[0].inputs)), whole[0].labels[half])
        for half in (slice(0, 4), slice(4, 11))
    ]
    found = []
    for run.state.micro_batches, batches in ((1, whole), (parts, whole), (parts, halves)):
        totals = run._gradients(batches, sum(map(run.task.weight, batches)))
        found.append([torch.tensor(totals), *(p.grad for p in run.model.parameters() if p.grad is not None)])
    for expected, in_parts, in_halves in zip(*found, strict=True):
        torch.testing.assert_close(in_parts, expected, rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(in_halves, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", OUT_OF_MEMORY)
def test_out_of_memory_halves_and_changes_nothing(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    training = config(epochs=2, token_dropout=0.0)
    undisturbed = trainer(training, model=STILL, randomised=True)
    undisturbed.run()
    memory = Memory()
    disturbed = trainer(training, model=STILL, randomised=True, observer=memory)
    forward = disturbed.model.forward

    def cramped(token_ids: Tensor, attention_mask: Tensor) -> Tensor:
        if disturbed.model.training and len(token_ids) > 3:
            raise OUT_OF_MEMORY[kind]
        return forward(token_ids, attention_mask)

    monkeypatch.setattr(disturbed.model, "forward", cramped)
    disturbed.run()
    assert disturbed.state.micro_batches == 4  # 10 texts in parts of 3, 3, 2, 2
    assert [message.split(" parts")[0][-1] for message in memory.messages] == ["2", "4"]
    assert all("out of memory" in message for message in memory.messages)
    assert_close(weights(disturbed), weights(undisturbed))


def test_a_step_that_ran_out_of_memory_is_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    small_from_the_start = trainer(config())
    small_from_the_start.state.micro_batches = 2
    small_from_the_start.run()
    disturbed = trainer(config())
    backward, failures = Tensor.backward, [OUT_OF_MEMORY["cpu"]]

    def cramped(loss: Tensor) -> None:
        if failures:
            raise failures.pop()
        backward(loss)

    monkeypatch.setattr(Tensor, "backward", cramped)
    disturbed.run()
    ends = weights(disturbed), weights(small_from_the_start)
    assert all(torch.equal(tensor, ends[1][name]) for name, tensor in ends[0].items())


def test_out_of_memory_for_one_text_ends_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    run = trainer(config(), data=toy_data(40))
    monkeypatch.setattr(run.model, "forward", lambda *_: (_ for _ in ()).throw(OUT_OF_MEMORY["cpu"]))
    with pytest.raises(GlassformerError, match="out of memory, even for a single text"):
        run.run()
    assert run.state.micro_batches == 16


def test_other_mistakes_are_not_taken_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    run = trainer(config())
    monkeypatch.setattr(run.model, "forward", lambda *_: (_ for _ in ()).throw(RuntimeError("shapes differ")))
    with pytest.raises(RuntimeError, match="shapes differ"):
        run.run()


def test_a_rate_that_is_far_too_large_ends_in_words() -> None:
    far_off = config(warmup=0.0, schedule="constant").model_copy(update={"learning_rate": 1e30})  # no recipe may
    run = trainer(far_off)
    with pytest.raises(
        NotANumberError, match=r"became NaN or infinite\. .*(weights|layer|gradient).* The learning rate was 1e\+30"
    ):
        run.run()
    assert run.best == {}


def test_a_poisoned_weight_is_named_and_the_best_weights_are_kept() -> None:
    def poison(step: int) -> None:
        if step == 8:  # in the second epoch of five steps
            with torch.no_grad():
                run.model.get_parameter("trunk.blocks.0.attention.out_projection.weight")[2, 1] = math.nan

    run = trainer(config(epochs=4), observer=Memory(poison))
    with pytest.raises(
        NotANumberError, match=r"after step 8: .* weights trunk.blocks.0.attention.out_projection.weight"
    ):
        run.run()
    assert run.state.best_epoch == 1
    assert all(tensor.isfinite().all() for tensor in run.best.values())


def test_a_validation_loss_that_is_no_number_ends_in_words() -> None:
    def poison(step: int) -> None:
        if step == 5:
            with torch.no_grad():
                run.model.get_parameter("head.bias")[1] = math.nan

    run = trainer(config(epochs=1), observer=Memory(poison))
    with pytest.raises(NotANumberError, match=r"the validation loss became NaN or infinite\. The weights head\.bias"):
        run.run()


def test_stops_when_validation_gets_worse_and_keeps_the_best_weights() -> None:
    after: list[dict[str, Tensor]] = []
    memory = Memory(after_epoch=lambda: after.append(weights(run)))
    training = config(epochs=30, patience=3, learning_rate=0.01)
    run = trainer(training, data=toy_data(wrong_validation=True), observer=memory)
    history = run.run()
    best = 1 + int(np.argmin([row["calibrated_loss"] for row in history]))
    assert run.state.best_epoch == best
    assert len(history) == best + 3 < 30
    assert memory.messages[-1] == (
        f"stopped early, after epoch {best + 3} of at most 30: the calibrated loss has not fallen since epoch {best} "
        "(`training.patience=3`)"
    )
    for name, tensor in weights(run).items():
        assert torch.equal(tensor, after[best - 1][name])
    assert not torch.equal(after[best - 1]["head.weight"], after[-1]["head.weight"])


def test_patience_is_with_the_loss_and_starts_anew_when_it_falls(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = iter([1.0, 1.1, 0.9, 0.95, 0.92, 0.5])
    monkeypatch.setattr(Classification, "validate", lambda *_: {"validation_loss": next(losses)})
    memory = Memory()
    run = trainer(config(epochs=6, patience=2), observer=memory)
    assert len(run.run()) == 5
    assert "stopped early, after epoch 5 of at most 6" in memory.messages[-1]
    assert run.state.best_epoch == 3


@pytest.mark.parametrize(
    ("together", "best"),
    [([0.4] * 4, 3), ([0.4, 0.4 + 1e-9, 0.4 - 1e-9, 0.4], 3), ([0.4, 0.39, 0.4, 0.4], 2), ([0.5, 0.4, 0.4, 0.4], 3)],
)
def test_if_other_readers_leave_no_difference_the_own_loss_decides(
    monkeypatch: pytest.MonkeyPatch, together: list[float], best: int
) -> None:
    """A transformer without a weight in any epoch was kept as it was after the first, half trained."""
    alone = [1.0, 0.8, 0.7, 0.75]
    found = iter({"calibrated_loss": one, "validation_loss": other} for one, other in zip(together, alone, strict=True))
    monkeypatch.setattr(Classification, "validate", lambda *_: next(found))
    run = trainer(config(epochs=4, patience=4))
    run.run()
    assert run.state.best_epoch == best


def test_patience_is_with_the_loss_of_all_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = iter([1.0, 0.8, 0.7, 0.6])
    monkeypatch.setattr(Classification, "validate", lambda *_: {"calibrated_loss": 0.4, "validation_loss": next(alone)})
    memory = Memory()
    run = trainer(config(epochs=4, patience=2), observer=memory)
    assert len(run.run()) == 3
    assert "the calibrated loss has not fallen since epoch 1" in memory.messages[-1]
    assert run.state.best_epoch == 3


def test_without_validation_the_last_weights_are_kept() -> None:
    last: list[dict[str, Tensor]] = []
    memory = Memory(after_epoch=lambda: last.append(weights(run)))
    run = trainer(config(epochs=3), data=toy_data(n_validation=0), observer=memory)
    history = run.run()
    assert len(history) == 3
    assert "validation_loss" not in history[0]
    assert torch.equal(weights(run)["head.weight"], last[-1]["head.weight"])


def test_a_small_table_is_read_several_times() -> None:
    run = trainer(config(epochs=2, min_steps_per_epoch=7), data=toy_data(30, n_validation=0))
    seen = see_inputs(run)
    history = run.run()
    assert [row["step"] for row in history] == [9, 18]  # three steps, three times
    assert sum(len(batch) for batch in seen) == 2 * 3 * 30


def test_smoothing_and_weights_are_in_the_loss() -> None:
    class_weights = torch.tensor([0.2, 1.0, 5.0])
    data = replace(toy_data(n_validation=0), class_weights=class_weights)
    run = trainer(whole_batch(epochs=1, label_smoothing=0.3), data=data, model=STILL, randomised=True)
    batch = assemble(data.train, random_windows(data.train.lengths, 24, seed=0, epoch=0), np.arange(47))
    with torch.no_grad():
        logits = run.model(*batch.inputs)
    labels = torch.from_numpy(data.train_labels)
    loss = run.run()[0]["train_loss"]
    per_text = F.cross_entropy(logits, labels, label_smoothing=0.3, reduction="none")
    expected = (per_text * class_weights[labels]).sum() / class_weights[labels].sum()
    assert loss == pytest.approx(float(expected), rel=1e-5)


def test_the_validation_loss_is_weighted_and_never_smoothed() -> None:
    class_weights = torch.tensor([0.2, 1.0, 5.0])
    data = replace(toy_data(), class_weights=class_weights)
    run = trainer(config(epochs=1, label_smoothing=0.3), data=data, randomised=True)
    row = run.run()[0]
    assert data.validation is not None
    assert data.validation_labels is not None
    logits = torch.from_numpy(score(run.model, data.validation, max_seq_len=24, n_classes=N_CLASSES))
    labels = torch.from_numpy(data.validation_labels)
    assert row["validation_loss"] == pytest.approx(float(F.cross_entropy(logits, labels, weight=class_weights)))
    assert row["validation_accuracy"] == pytest.approx(float((logits.argmax(dim=1) == labels).float().mean()))


def test_the_rate_follows_the_schedule() -> None:
    training = config(epochs=3, learning_rate=0.02, warmup=0.1)
    memory = Memory()
    history = trainer(training, observer=memory).run()
    steps = memory.steps[0].steps_per_epoch
    for number, row in enumerate(history):
        assert row["learning_rate"] == pytest.approx(learning_rate(training, (number + (steps - 0.5) / steps) / 3))


def test_gradients_are_clipped() -> None:
    run = trainer(whole_batch(epochs=1, clip=1e-3), model=STILL)
    run.run()
    norm = torch.stack([p.grad.norm() for p in run.model.parameters() if p.grad is not None]).norm()
    assert float(norm) == pytest.approx(1e-3, rel=1e-3)


def test_dropped_tokens_are_unknown_and_never_the_special_ones() -> None:
    data = toy_data(200, n_validation=0)
    run = trainer(config(epochs=1, token_dropout=0.3), data=data)
    shown = see_inputs(run)
    run.run()
    seen = torch.cat([F.pad(batch, (0, 24 - batch.shape[1])) for batch in shown])
    assert (seen[:, 0] == 2).all()
    words = (seen != 0).sum() - len(seen)
    assert int(words) == int(np.minimum(data.train.lengths, 23).sum())
    assert float((seen == 1).sum() / words) == pytest.approx(0.3, abs=0.04)


def test_float32_is_computed_in_where_torch_has_no_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    monkeypatch.setattr(torch.ops, "mkldnn", None)
    assert trainer(config(precision="auto")).bfloat16 is False


@pytest.mark.parametrize(
    ("machine", "avx512_bf16", "amx", "expected"),
    [
        ("x86_64", True, False, True),
        ("AMD64", False, True, True),
        ("x86_64", False, False, False),  # oneDNN would emulate it
        ("aarch64", False, False, True),
    ],
)
def test_bfloat16_is_computed_in_where_the_processor_has_it(
    monkeypatch: pytest.MonkeyPatch, machine: str, avx512_bf16: bool, amx: bool, expected: bool
) -> None:
    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace(_is_mkldnn_bf16_supported=lambda: True))
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512_bf16)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    assert computes_in_bfloat16(config(precision="auto"), torch.device("cpu")) is expected


def test_bfloat16_computes_in_it_and_keeps_weights_in_float32() -> None:
    run = trainer(config(precision="bfloat16", epochs=4, learning_rate=0.01))
    dtypes: set[torch.dtype] = set()
    run.model.get_submodule("head").register_forward_hook(
        lambda module, _, output: dtypes.add(output.dtype) if module.training else None
    )
    history = run.run()
    assert dtypes == {torch.bfloat16}
    assert {parameter.dtype for parameter in run.model.parameters()} == {torch.float32}
    assert history[-1]["train_loss"] < history[0]["train_loss"]


def test_the_same_seed_is_the_same_run_and_another_one_is_not() -> None:
    ends = []
    for seed in (3, 3, 4):
        run = trainer(config(seed=seed))
        run.run()
        ends.append(weights(run))
    assert all(torch.equal(tensor, ends[1][name]) for name, tensor in ends[0].items())
    assert not torch.equal(ends[0]["head.weight"], ends[2]["head.weight"])


def test_ctrl_c_ends_the_step_and_puts_the_handler_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    memory = Memory(lambda step: signal.raise_signal(signal.SIGINT) if step == 3 else None)
    with pytest.raises(InterruptedTraining):
        trainer(config(), observer=memory).run()
    assert len(memory.steps) == 3
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_while_the_compiler_is_imported_is_heard_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return build_optimizers(*arguments)

    monkeypatch.setattr("glassformer.training.loop.build_optimizers", interrupted)
    with pytest.raises(InterruptedTraining):
        trainer(config()).run()


def test_a_second_ctrl_c_stops_at_once() -> None:
    def twice(_: int) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        trainer(config(), observer=Memory(twice)).run()


def test_runs_in_a_thread_where_signals_cannot_be_caught() -> None:
    run = trainer(config(epochs=1), model=SMALL)
    thread = threading.Thread(target=run.run)
    thread.start()
    thread.join()
    assert run.state.epoch == 1
