"""The training loop: epochs of steps, each with validation. A `Task` says what is learned. The best weights stay."""

import math
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor, nn

from glassformer.data.stopping import StopRequest, stop_requests
from glassformer.errors import GlassformerError, is_out_of_memory
from glassformer.models.memory import keep_large_buffers
from glassformer.training.checkpoint import FIGURES, CheckpointError, RunState, load_checkpoint, save_checkpoint
from glassformer.training.not_a_number import explain_not_a_number
from glassformer.training.optimizers import (
    build_optimizers,
    computes_in_bfloat16,
    freeze,
    learning_rate,
    set_learning_rate,
)
from glassformer.training.processes import ALONE, LostProcessError, Processes
from glassformer.training.task import Cost, Examples, Task
from glassformer.training.training_config import LoopConfig

Model = TypeVar("Model", bound=nn.Module)
_NO_DIFFERENCE = 1e-8  # nats a row
_CHECKPOINT_SECONDS = 30.0


class InterruptedTraining(GlassformerError):  # noqa: N818 (an event, not a mistake)
    """The user asked to stop. The run is saved and can be resumed. The exit code is that of a shell for the signal."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__(
            "stopped by Ctrl-C" if number == signal.SIGINT else f"stopped by {signal.Signals(number).name}"
        )
        self.exit_code = 128 + number


class NotANumberError(GlassformerError):
    """The loss or a gradient became NaN or infinite. `Trainer.best` holds the best weights so far, if any.

    Args:
        best: the model with these weights, once the caller of the trainer has made it.
    """

    def __init__(self, message: str, *, best: Any = None) -> None:
        super().__init__(message)
        self.best = best


@dataclass(frozen=True, kw_only=True)
class StepReport:
    """The figures of a step for the live view.

    Attributes:
        accuracy: the share of right answers in the epoch so far, if the task counts them.
        speed: texts or tokens (whichever the task counts) per second.
        padding: the share of positions of the step that are padding.
        done: the share of this training that is done, from 0 to 1.
        seconds: the time that this training has taken.
        seconds_left: the time that this training still takes, and the trainings of the run after it.
        training, trainings: which training of the run this is, and how many there are (see `cross_fitting.py`).
    """

    epoch: int
    epochs: int
    step_of_epoch: int
    steps_per_epoch: int
    loss: float
    accuracy: float | None
    speed: float
    unit: str
    padding: float
    done: float
    seconds: float
    seconds_left: float
    training: int = 1
    trainings: int = 1

    @property
    def foresees(self) -> bool:
        """Whether `seconds_left` has a basis: the first of several trainings shows whether others follow it."""
        return self.training > 1 or self.trainings == 1


class Observer(Protocol):
    """Receives the progress of training."""

    def on_step(self, report: StepReport) -> None: ...

    def on_epoch(self, row: dict[str, float]) -> None: ...

    def on_message(self, text: str) -> None: ...


class Silent:
    """An observer that does nothing."""

    def on_step(self, report: StepReport) -> None: ...

    def on_epoch(self, row: dict[str, float]) -> None: ...

    def on_message(self, text: str) -> None: ...


class Trainer(Generic[Model]):
    """Trains one model on one task; `run` returns the history.

    Args:
        checkpoint: where the run is saved every half minute and on Ctrl-C. None: the run is kept in memory only.
        processes: the processes that train the same model together. The one that leads writes the checkpoint.
    """

    def __init__(
        self,
        model: Model,
        task: Task,
        config: LoopConfig,
        *,
        checkpoint: Path | None = None,
        observer: Observer | None = None,
        processes: Processes = ALONE,
    ) -> None:
        keep_large_buffers()  # not earlier: what prepares a run frees large buffers for good
        self.model, self.task, self.config = model, task, config
        self.checkpoint, self.observer = checkpoint, observer or Silent()
        self.processes = processes
        self.device = next(model.parameters()).device
        freeze(model, config.freeze)
        self.state = RunState()
        self.before_step: Callable[[], None] = lambda: None
        self.best: dict[str, Tensor] = {}
        self.bfloat16 = computes_in_bfloat16(config, self.device)
        self._last_saved, self._warned = time.perf_counter(), False
        self.saved_step: int | None = None

    @cached_property
    def optimizers(self) -> list[torch.optim.Optimizer]:
        """Those of the recipe. The first one that a process makes imports PyTorch's compiler, which takes seconds."""
        return build_optimizers(self.model, self.config)

    def resume(self) -> None:
        """Continue from the checkpoint, and say where."""
        assert self.checkpoint is not None
        self.state, self.best = load_checkpoint(self.checkpoint, RunState, self.model, self.optimizers)
        self.saved_step = self.state.step
        if self.state.step:
            self.observer.on_message(f"resumed at step {self.state.step + 1:,} (epoch {self.state.epoch + 1})")

    def run(self) -> list[dict[str, float]]:
        """Train to the end, leave the best weights in the model, and return one row of figures per epoch.

        Raises:
            InterruptedTraining: on Ctrl-C, after the run was saved.
            LostProcessError: another process ended too early. The first process that noticed it has saved the run.
            NotANumberError: the loss or its gradient was not finite.
            GlassformerError: there is too little memory for a single example.
        """
        with stop_requests() as stop:
            if self.state.batch > 0 or not self._over():
                _ = self.optimizers  # what importing takes must not count as the time of a step
            try:
                while self.state.batch > 0 or not self._over():  # an epoch that has begun is finished
                    self._epoch(stop)
            except LostProcessError as error:
                raise self._after_loss(error) from error
        self._say_if_stopped_early()
        if self.best:  # without an epoch there is none
            self.model.load_state_dict(self.best)
        return self.state.history

    def end(self) -> None:
        """Take no other step."""
        self.config = self.config.model_copy(update={"max_steps": self.state.step, "max_seconds": None})

    def _over(self) -> bool:
        config, state = self.config, self.state
        if config.max_steps is not None or config.max_seconds is not None:
            return self._budget_spent()
        judged = bool(state.history) and "validation_loss" in state.history[-1]
        return state.epoch >= config.epochs or (judged and state.epoch - state.last_fall >= config.patience)

    def _budget_spent(self) -> bool:
        config, state = self.config, self.state
        by_steps = config.max_steps is not None and state.step >= config.max_steps
        return by_steps or (config.max_seconds is not None and state.seconds >= config.max_seconds)

    def _say_if_stopped_early(self) -> None:
        config, state = self.config, self.state
        if not (self._budget_spent() or state.epoch >= config.epochs):
            judged = "calibrated loss" if "calibrated_loss" in state.history[-1] else "validation loss"
            self.observer.on_message(
                f"stopped early, after epoch {state.epoch} of at most {config.epochs}: the {judged} has not "
                f"fallen since epoch {state.last_fall} (`training.patience={config.patience}`)"
            )

    def _epoch(self, stop: StopRequest) -> None:
        steps = self.task.steps(self.state.epoch)
        self.model.train()
        began = time.perf_counter()
        before = self.state.seconds
        if not self.state.sums:
            self.state.sums = {**FIGURES}
        counted_here = 0
        for assemble in steps[self.state.batch :]:
            self.before_step()
            if self._budget_spent():
                break
            batches = assemble()
            self.state.learning_rate = learning_rate(self.config, self._progress(len(steps), ahead=0.5))
            set_learning_rate(self.optimizers, self.state.learning_rate)
            self._step(batches)
            counted_here += sum(map(self.task.count, batches))
            now = time.perf_counter()
            (self.state.seconds,) = self.processes.agree(before + now - began)
            self.observer.on_step(self._report(len(steps), batches, counted_here / (now - began)))
            (number,) = self.processes.agree(stop.number or 0)
            if number:
                self.save()
                raise InterruptedTraining(int(number))
            if now - self._last_saved > _CHECKPOINT_SECONDS:
                self.try_to_save()
        found, judged = self._validate()
        (self.state.seconds,) = self.processes.agree(before + time.perf_counter() - began)
        self._end_epoch(found, judged)
        self.observer.on_epoch(self.state.history[-1])

    def _progress(self, steps_per_epoch: int, *, ahead: float = 0.0) -> float:
        """Return the share of training that is done `ahead` steps from now: of the budget, or else of the epochs."""
        config, state = self.config, self.state
        if config.max_steps is not None:
            return (state.step + ahead) / config.max_steps
        if config.max_seconds is not None:
            return min(1.0, state.seconds / config.max_seconds)
        return (state.epoch + (state.batch + ahead) / steps_per_epoch) / config.epochs

    def _step(self, batches: list[Examples]) -> None:
        """Update once from all batches together. If memory runs out, compute the update in twice as many parts."""
        random = torch.get_rng_state()
        weight = sum(map(self.task.weight, batches))
        while True:
            try:
                with self.processes.apart():
                    figures = self._gradients(batches, weight)
                break
            except (RuntimeError, MemoryError, OSError) as error:
                if not is_out_of_memory(error):
                    raise
                if self.state.micro_batches >= max(len(batch.labels) for batch in batches):
                    raise GlassformerError(
                        f"out of memory, even for a single text of {batches[0].inputs.token_ids.shape[-1]:,} tokens; "
                        "choose a smaller model (`preset='tiny'`) or window (`model.max_seq_len=128`)"
                    ) from error
            self.state.micro_batches *= 2
            torch.set_rng_state(random)
            self.observer.on_message(
                f"out of memory: batches are now computed in {self.state.micro_batches} parts, for the same step"
            )
        try:
            loss, correct, count = self.processes.sum(figures, self.model.parameters())
        except LostProcessError:
            torch.set_rng_state(random)  # the step is taken anew when the run is resumed
            raise
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        if not (math.isfinite(loss) and math.isfinite(float(norm))):
            raise NotANumberError(
                self._not_a_number("the loss or its gradient", lambda: [self._cost(batch) for batch in batches])
            )
        for optimizer in self.optimizers:
            optimizer.step()
        self.state.batch += 1
        self.state.step += 1
        for name, value in (("loss", loss), ("correct", correct), ("weight", weight), ("count", count)):
            self.state.sums[name] += value

    def _gradients(self, batches: list[Examples], weight: float) -> tuple[float, float, float]:
        """Compute this process's part of the gradients. The loss over all examples is divided by `weight`.

        Returns:
            The summed loss, the number of right answers, and the number of judged answers.
        """
        self.model.zero_grad(set_to_none=True)
        total_loss, correct, count = 0.0, 0.0, 0.0
        for batch in self.processes.share(batches):
            for part in batch.split(self.state.micro_batches):
                with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bfloat16):
                    cost = self._cost(part)
                (cost.loss / weight).backward()
                total_loss += float(cost.loss.detach())
                if cost.correct is not None:
                    correct, count = correct + cost.correct, count + self.task.count(part)
        return total_loss, correct, count

    def _cost(self, examples: Examples) -> Cost:
        return self.task.cost(self.model, examples.to(self.device))

    def _validate(self) -> tuple[dict[str, float], float | None]:
        """Return the validation metrics, and the loss that chooses the best epoch. None without validation."""
        found = self.task.validate(self.model)
        if not found:
            return found, None
        loss, judged = self.processes.agree(
            found["validation_loss"], found.get("calibrated_loss", found["validation_loss"])
        )
        if not math.isfinite(loss):
            raise NotANumberError(self._not_a_number("the validation loss", lambda: self.task.validate(self.model)))
        return found | {"validation_loss": loss}, judged

    def _end_epoch(self, found: dict[str, float], judged: float | None) -> None:
        """Note the figures of the epoch, and keep its weights if they are the best, or if nothing judges them."""
        loss, accuracy = self._means()
        self.state.epoch, self.state.batch, self.state.sums = self.state.epoch + 1, 0, {}
        if judged is None or self._is_better(judged, found["validation_loss"]):
            self.state.best_epoch = self.state.epoch
            self.best = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
        self.state.best_loss = min(self.state.best_loss, math.inf if judged is None else judged)
        row = {
            "epoch": float(self.state.epoch),
            "step": float(self.state.step),
            "train_loss": loss,
            **({} if accuracy is None else {"train_accuracy": accuracy}),
            "learning_rate": self.state.learning_rate,
        }
        self.state.history.append(row | found | {"seconds": self.state.seconds})

    def _is_better(self, judged: float, alone: float) -> bool:
        """Whether an epoch is better than the best one. If other readers leave no difference, its own loss decides."""
        gain, best = self.state.best_loss - judged, self.state.metrics()["best"]
        return gain > 0 if abs(gain) > _NO_DIFFERENCE else alone < best["validation_loss"]

    def _means(self) -> tuple[float, float | None]:
        """Return the loss and accuracy of the epoch so far. The accuracy is None if answers are not judged."""
        sums = self.state.sums
        return sums["loss"] / sums["weight"], sums["correct"] / sums["count"] if sums["count"] else None

    def save(self) -> None:
        """Write the checkpoint, if one is wanted. Raises `CheckpointError` if that fails."""
        if self.checkpoint is not None and self.processes.leads:
            optimizers = self.optimizers if self.state.step else []  # they hold nothing before the first step
            save_checkpoint(self.checkpoint, self.state, self.model, self.best, optimizers)
            self.saved_step = self.state.step
        self._last_saved = time.perf_counter()

    def try_to_save(self) -> None:
        """Save, but continue training if the disk is full, and say so once. There may be room again by the end."""
        try:
            self.save()
        except CheckpointError as error:
            if not self._warned:
                saved = "nothing" if self.saved_step is None else f"the run up to step {self.saved_step:,}"
                self.observer.on_message(f"warning: {error}. Training continues; {saved} is saved")
            self._warned, self._last_saved = True, time.perf_counter()

    def _after_loss(self, error: LostProcessError) -> LostProcessError:
        """Save the finished steps after another process was lost. Return the error that says so."""
        try:
            self.save()
        except CheckpointError as failure:
            return LostProcessError(f"{error}; {failure}")
        if self.saved_step is None:
            return LostProcessError(f"{error}; nothing is saved")
        saved = f"the run is saved up to step {self.saved_step:,}"
        return LostProcessError(
            f"{error}; {saved}. Continue it with `resume=True`, in any number of processes", saved_step=self.saved_step
        )

    def _report(self, steps: int, batches: list[Examples], speed: float) -> StepReport:
        loss, accuracy = self._means()
        done = self._progress(steps)
        read = sum(float(batch.inputs.attention_mask.float().mean()) for batch in batches) / len(batches)
        return StepReport(
            epoch=self.state.epoch + 1,
            epochs=math.ceil(round((self.state.epoch + self.state.batch / steps) / done, 6)),
            step_of_epoch=self.state.batch,
            steps_per_epoch=steps,
            loss=loss,
            accuracy=accuracy,
            speed=speed,
            unit=self.task.unit,
            padding=1 - read,
            done=done,
            seconds=self.state.seconds,
            seconds_left=max(0.0, self.state.seconds * (1 / done - 1)),
        )

    def _not_a_number(self, what: str, run: Callable[[], Any]) -> str:
        return (
            f"training stopped after step {self.state.step:,}: {what} became NaN or infinite. "
            f"{explain_not_a_number(self.model, run)} The learning rate "
            f"was {self.state.learning_rate:.2g}; try a smaller one "
            f"(`training.learning_rate={self.config.learning_rate / 10:.1g}`)."
        )
