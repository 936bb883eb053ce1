"""The training loop: epochs of steps, validation after each, the best weights kept."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.data.batches import Batch, assemble, covering_batches, padding_share
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import START_ID, UNKNOWN_ID
from glassformer.errors import GlassformerError
from glassformer.prediction.scoring import score
from glassformer.training.checkpoint import RunState, load_checkpoint, save_checkpoint
from glassformer.training.config import TrainingConfig
from glassformer.training.memory import is_out_of_memory
from glassformer.training.not_a_number import explain_not_a_number
from glassformer.training.objectives import objective
from glassformer.training.optimizers import build_optimizers, freeze, set_learning_rate
from glassformer.training.order import plan_epoch
from glassformer.training.schedules import learning_rate

_CHECKPOINT_SECONDS = 30.0


class InterruptedTraining(GlassformerError):  # noqa: N818 (an event, not a mistake)
    """The user asked to stop; the run is saved and can be resumed."""


class NotANumberError(GlassformerError):
    """The loss or a gradient stopped being finite; the best weights so far are in `Trainer.best`, if there are any."""


@dataclass(frozen=True, kw_only=True)
class StepReport:
    """What the live view shows."""

    epoch: int
    epochs: int
    step_of_epoch: int
    steps_per_epoch: int
    loss: float
    accuracy: float
    texts_per_second: float
    padding: float
    seconds_left: float


class Observer(Protocol):
    """Hears how training goes."""

    def on_step(self, report: StepReport) -> None: ...

    def on_epoch(self, row: dict[str, float]) -> None: ...

    def on_message(self, text: str) -> None: ...


class Silent:
    """An observer that does nothing."""

    def on_step(self, report: StepReport) -> None: ...

    def on_epoch(self, row: dict[str, float]) -> None: ...

    def on_message(self, text: str) -> None: ...


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """Encoded texts and their labels: class numbers (rows,), or ones and zeros (rows, n_classes) with `multilabel`."""

    train: TokenStore
    train_labels: np.ndarray[Any, Any]
    validation: TokenStore | None
    validation_labels: np.ndarray[Any, Any] | None
    class_weights: Tensor
    multilabel: bool


class Trainer:
    """Trains one model on one data set; `run` returns the history.

    Args:
        checkpoint: where the run is saved every half minute and on Ctrl-C; None keeps it in memory only.
    """

    def __init__(
        self,
        model: nn.Module,
        data: TrainingData,
        config: TrainingConfig,
        *,
        max_seq_len: int,
        checkpoint: Path | None = None,
        observer: Observer | None = None,
    ) -> None:
        self.model, self.data, self.config, self.max_seq_len = model, data, config, max_seq_len
        self.checkpoint, self.observer = checkpoint, observer or Silent()
        self.device = next(model.parameters()).device
        self.objective = objective(config, multilabel=data.multilabel)
        self.class_weights = data.class_weights.to(self.device)
        freeze(model, config.freeze)
        self.optimizers = build_optimizers(model, config)
        self.state = RunState()
        self.best: dict[str, Tensor] = {}
        self.bfloat16 = _computes_in_bfloat16(config, self.device)
        self._last_saved = time.perf_counter()

    def resume(self) -> None:
        """Continue from the checkpoint."""
        assert self.checkpoint is not None
        self.state, self.best = load_checkpoint(self.checkpoint, self.model, self.optimizers)

    def run(self) -> list[dict[str, float]]:
        """Train to the end, leave the best weights in the model, and return one row of figures per epoch.

        Raises:
            InterruptedTraining: on Ctrl-C, after the run was saved.
            NotANumberError: the loss or its gradient was not finite.
            GlassformerError: memory does not suffice for a single text.
        """
        with _ctrl_c() as stop:
            while self.state.batch > 0 or not self._over():  # an epoch that was begun is ended
                self._epoch(stop)
        self.model.load_state_dict(self.best)
        return self.state.history

    def _over(self) -> bool:
        if self.config.max_steps is not None or self.config.max_seconds is not None:
            return self._budget_spent()
        return self.state.epoch >= self.config.epochs or self._out_of_patience()

    def _budget_spent(self) -> bool:
        config, state = self.config, self.state
        by_steps = config.max_steps is not None and state.step >= config.max_steps
        return by_steps or (config.max_seconds is not None and state.seconds >= config.max_seconds)

    def _out_of_patience(self) -> bool:
        return self.data.validation is not None and self.state.epoch - self.state.best_epoch >= self.config.patience

    def _epoch(self, stop: threading.Event) -> None:
        lengths, epoch = self.data.train.lengths, self.state.epoch
        windows, groups = plan_epoch(lengths, self.config, max_seq_len=self.max_seq_len, epoch=epoch)
        self.model.train()
        began = time.perf_counter()
        before = self.state.seconds
        if not self.state.sums:
            self.state.sums = {"loss": 0.0, "correct": 0.0, "texts": 0.0, "weight": 0.0}
        texts_here = 0
        for group in groups[self.state.batch :]:
            if self._budget_spent():
                break
            batches = [assemble(self.data.train, windows, chosen) for chosen in group]
            self._set_learning_rate(self._progress(len(groups), ahead=0.5))
            self._step(batches)
            texts_here += sum(len(batch.rows) for batch in batches)
            now = time.perf_counter()
            self.state.seconds = before + now - began
            self.observer.on_step(self._report(len(groups), batches, texts_here / (now - began)))
            if stop.is_set():
                self._save()
                raise InterruptedTraining("stopped by Ctrl-C")
            if now - self._last_saved > _CHECKPOINT_SECONDS:
                self._save()
        self._end_epoch()
        self.state.seconds = before + time.perf_counter() - began
        self.state.history[-1]["seconds"] = self.state.seconds
        self.observer.on_epoch(self.state.history[-1])

    def _progress(self, steps_per_epoch: int, *, ahead: float = 0.0) -> float:
        """The share of training that is done, `ahead` steps from now: of the budget, or without one of the epochs."""
        config, state = self.config, self.state
        if config.max_steps is not None:
            return (state.step + ahead) / config.max_steps
        if config.max_seconds is not None:
            return min(1.0, state.seconds / config.max_seconds)
        return (state.epoch + (state.batch + ahead) / steps_per_epoch) / config.epochs

    def _set_learning_rate(self, progress: float) -> None:
        self.state.learning_rate = learning_rate(self.config, progress)
        set_learning_rate(self.optimizers, self.state.learning_rate)

    def _step(self, batches: list[Batch]) -> None:
        """One update from all batches together; out of memory, it is computed in twice as many parts instead."""
        random = torch.get_rng_state()
        while True:
            try:
                loss, correct, weight = self._gradients(batches)
                break
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
                if self.state.micro_batches >= max(len(batch.rows) for batch in batches):
                    raise GlassformerError(
                        f"out of memory, even for a single text of {batches[0].token_ids.shape[1]} tokens; choose a "
                        "smaller model (--preset tiny) or window (--set model.max_seq_len=128)"
                    ) from error
            self.state.micro_batches *= 2
            torch.set_rng_state(random)
            self.observer.on_message(
                f"out of memory: batches are now computed in {self.state.micro_batches} parts, for the same step"
            )
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        if not (math.isfinite(loss) and math.isfinite(float(norm))):
            raise NotANumberError(self._not_a_number("the loss or its gradient", batches))
        for optimizer in self.optimizers:
            optimizer.step()
        self.state.batch += 1
        self.state.step += 1
        for name, value in (
            ("loss", loss), ("correct", correct), ("weight", weight), ("texts", sum(len(b.rows) for b in batches))
        ):  # fmt: skip
            self.state.sums[name] += value

    def _gradients(self, batches: list[Batch]) -> tuple[float, float, float]:
        """Gradients of the mean loss over all texts of all batches, whatever parts it is computed in.

        Returns:
            Summed loss, number of right answers, and summed weight of the texts.
        """
        self.model.zero_grad(set_to_none=True)
        labels = [torch.from_numpy(self.data.train_labels[batch.rows]).to(self.device) for batch in batches]
        weight = sum(float(self._weights(one).sum()) for one in labels)
        total_loss, correct = 0.0, 0.0
        for batch, batch_labels in zip(batches, labels, strict=True):
            for part in torch.arange(len(batch.rows)).tensor_split(self.state.micro_batches):
                if len(part) == 0:
                    continue
                token_ids = self._drop_tokens(batch.token_ids[part].to(self.device))
                with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
                    logits = self.model(token_ids, batch.attention_mask[part].to(self.device))
                truth = batch_labels[part.to(self.device)]
                loss = self._losses(logits.float(), truth, self.config.label_smoothing).sum()
                (loss / weight).backward()
                total_loss += float(loss.detach())
                correct += float(_right_answers(logits.detach(), truth).sum())
        return total_loss, correct, weight

    def _losses(self, logits: Tensor, labels: Tensor, label_smoothing: float) -> Tensor:
        return self.objective(logits, labels, class_weights=self.class_weights, label_smoothing=label_smoothing)

    def _weights(self, labels: Tensor) -> Tensor:
        """What each text counts for in the mean; with several labels per text, each text counts once."""
        return torch.ones(len(labels)) if self.data.multilabel else self.class_weights[labels]

    def _drop_tokens(self, token_ids: Tensor) -> Tensor:
        """Show some tokens as unknown (word dropout: Iyyer et al. 2015, §3)."""
        if self.config.token_dropout == 0:
            return token_ids
        dropped = torch.rand(token_ids.shape, device=token_ids.device) < self.config.token_dropout
        return token_ids.masked_fill(dropped & (token_ids > START_ID), UNKNOWN_ID)

    def _end_epoch(self) -> None:
        sums = self.state.sums
        self.state.epoch, self.state.batch, self.state.sums = self.state.epoch + 1, 0, {}
        row = {
            "epoch": float(self.state.epoch),
            "step": float(self.state.step),
            "train_loss": sums["loss"] / sums["weight"],
            "train_accuracy": sums["correct"] / sums["texts"],
            "learning_rate": self.state.learning_rate,
        }
        best = True  # without validation the last epoch is taken for the best
        if self.data.validation is not None and self.data.validation_labels is not None:
            loss, accuracy = self._validate(self.data.validation, self.data.validation_labels)
            if not math.isfinite(loss):
                windows = covering_batches(self.data.validation, self.max_seq_len, batch_tokens=4096, batch_size=64)
                raise NotANumberError(self._not_a_number("the validation loss", windows))
            row |= {"validation_loss": loss, "validation_accuracy": accuracy}
            best = loss < self.state.best_loss
            self.state.best_loss = min(loss, self.state.best_loss)
        if best:
            self.state.best_epoch = self.state.epoch
            self.best = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
        self.state.history.append(row)

    def _validate(self, store: TokenStore, labels: np.ndarray[Any, Any]) -> tuple[float, float]:
        logits = score(self.model, store, max_seq_len=self.max_seq_len, n_classes=len(self.class_weights))
        truth = torch.from_numpy(labels.copy()).to(self.device)  # a copy, as it may be read-only
        on_device = torch.from_numpy(logits).to(self.device)
        losses = self._losses(on_device, truth, label_smoothing=0.0)
        weight = self._weights(truth).sum().to(losses.device)
        return float(losses.sum() / weight), float(_right_answers(on_device, truth).float().mean())

    def _save(self) -> None:
        if self.checkpoint is not None:
            save_checkpoint(self.checkpoint, self.state, self.model, self.best, self.optimizers)
            self._last_saved = time.perf_counter()

    def _report(self, steps: int, batches: list[Batch], texts_per_second: float) -> StepReport:
        sums, done = self.state.sums, self._progress(steps)
        return StepReport(
            epoch=self.state.epoch + 1,
            epochs=math.ceil(round((self.state.epoch + self.state.batch / steps) / done, 6)),
            step_of_epoch=self.state.batch,
            steps_per_epoch=steps,
            loss=sums["loss"] / sums["weight"],
            accuracy=sums["correct"] / sums["texts"],
            texts_per_second=texts_per_second,
            padding=float(np.mean([padding_share(batch) for batch in batches])),
            seconds_left=max(0.0, self.state.seconds * (1 / done - 1)),
        )

    def _not_a_number(self, what: str, batches: Iterable[Batch]) -> str:
        cause = explain_not_a_number(self.model, [(b.token_ids, b.attention_mask) for b in batches])
        return (
            f"training stopped after step {self.state.step}: {what} became not-a-number. {cause} The learning rate "
            f"was {self.state.learning_rate:.2g}; try a smaller one "
            f"(--set training.learning_rate={self.config.learning_rate / 10:.1g})."
        )


def _right_answers(logits: Tensor, labels: Tensor) -> Tensor:
    """Whether each text is answered rightly: the best class, or with several labels per text all of them."""
    if labels.ndim == 2:
        return ((logits >= 0) == labels.bool()).all(dim=1)
    return logits.argmax(dim=1) == labels


def _computes_in_bfloat16(config: TrainingConfig, device: torch.device) -> bool:
    if config.precision != "auto":
        return config.precision == "bfloat16"
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    # torch for some processors comes without oneDNN, and then without this question to it.
    with_onednn = device.type == "cpu" and torch.backends.mkldnn.is_available()
    return with_onednn and bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


@contextmanager
def _ctrl_c() -> Iterator[threading.Event]:
    """The first Ctrl-C sets the event, so that a step can end and be saved; the second one stops at once."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = signal.getsignal(signal.SIGINT)

    def handle(_number: int, _frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    signal.signal(signal.SIGINT, handle)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)
