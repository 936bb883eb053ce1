"""Save an unfinished run in one safetensors file. A resumed run continues exactly as if it had never stopped."""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

import torch
from pydantic import Field, FiniteFloat, PositiveInt, TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from glassformer.data.checksums import digest_of_arrays
from glassformer.data.files import why_not_written, written_aside
from glassformer.errors import GlassformerError

FIGURES = {"loss": 0.0, "correct": 0.0, "count": 0.0, "weight": 0.0}
"""The running totals of an epoch before its first step."""
_BUFFERS = {
    torch.optim.AdamW: ("step", "exp_avg", "exp_avg_sq"),
    torch.optim.Muon: ("momentum_buffer",),
    torch.optim.SGD: (),
}
"""What each optimizer keeps of a parameter. All but the steps have its shape."""
LONGEST_RUN = 1e10  # seconds
Count = Annotated[int, Field(ge=0, le=2**53)]  # a float holds it
State = TypeVar("State")
"""A dataclass of plain numbers that says how far a run has come. Tensors are kept separately."""


class CheckpointError(GlassformerError):
    """A checkpoint could not be written. The previous checkpoint is unchanged."""


@dataclass(kw_only=True)
class RunState:
    """How far a run of the training loop has come."""

    epoch: Count = 0
    """Finished epochs."""
    batch: Count = 0
    """Finished steps of the current epoch."""
    step: Count = 0
    """Finished steps in all."""
    best_epoch: Count = 0
    """The epoch whose weights are kept; 0 before the first."""
    best_loss: float = math.inf
    micro_batches: PositiveInt = 1
    """The number of parts that each batch is computed in. It is doubled when memory runs out."""
    learning_rate: FiniteFloat = 0.0
    """The learning rate of the last step."""
    seconds: Annotated[float, Field(ge=0, le=LONGEST_RUN)] = 0.0
    """Time spent training, validation included."""
    sums: dict[str, float] = field(default_factory=dict)
    """Running totals of the current epoch."""
    history: list[dict[str, float]] = field(default_factory=list)
    """One row per finished epoch."""

    def __post_init__(self) -> None:
        if self.sums and not FIGURES.keys() <= self.sums.keys():
            raise ValueError("it holds no figures of an epoch")
        if not all({"epoch", "step", "train_loss"} <= row.keys() for row in self.history):
            raise ValueError("it holds epochs without figures")
        if self.batch and not self.sums.get("weight", 0.0) > 0:
            raise ValueError("it holds no figures of the epoch that has begun")
        before = self.history[-1]["step"] if self.history else 0
        is_counted = [row["epoch"] for row in self.history] == [*range(1, len(self.history) + 1)]
        if not is_counted or self.epoch != len(self.history) or self.step != before + self.batch:
            raise ValueError("its epochs and steps do not go together")
        if not min(1, self.epoch) <= self.best_epoch <= self.epoch:
            raise ValueError("its best epoch is none of its epochs")

    @property
    def last_fall(self) -> int:
        """The last epoch in which the loss that judges epochs fell."""
        losses = [row.get("calibrated_loss", row.get("validation_loss", math.inf)) for row in self.history]
        return 1 + losses.index(min(losses))

    def metrics(self) -> dict[str, Any]:
        """Return what a model folder keeps of its training: the metrics of each epoch, and the best epoch."""
        best = next((row for row in self.history if row["epoch"] == self.best_epoch), {})
        return {"best_epoch": self.best_epoch, "best": best, "history": self.history}


def save_checkpoint(
    path: Path,
    state: Any,
    model: nn.Module,
    best: dict[str, Tensor],
    optimizers: list[torch.optim.Optimizer],
) -> None:
    """Write everything that the next step depends on to a hidden file, then rename that file. `state` is a `State`.

    Raises:
        CheckpointError: the disk is full, or the folder gone.
    """
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.items()}
    for number, optimizer in enumerate(optimizers):
        for index, values in optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{index}.{name}": value for name, value in values.items()}
    tensors["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    # Each tensor is cloned, as safetensors refuses tensors that share memory.
    apart = {name: tensor.detach().cpu().clone().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(asdict(state))
    try:
        with written_aside(path) as aside:
            save_file(apart, aside, metadata={"said": text, "sha256": _digest(apart, text)})
    except (SafetensorError, OSError) as error:
        n_bytes = sum(tensor.nbytes for tensor in apart.values())
        why = why_not_written(path.parent, error, n_bytes)
        raise CheckpointError(f"the run could not be saved: {why}") from error


def load_checkpoint(
    path: Path, kind: type[State], model: nn.Module, optimizers: list[torch.optim.Optimizer]
) -> tuple[State, dict[str, Tensor]]:
    """Restore the model, the optimizers and the random number generators as `save_checkpoint` saved them.

    Returns:
        The run's state and the best weights so far.

    Raises:
        GlassformerError: the file is damaged or belongs to another model.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        if metadata.get("sha256") != _digest(tensors, metadata["said"]):
            raise ValueError("its checksum differs")
        TypeAdapter(kind).validate_json(metadata["said"], strict=True)
        state = kind(**json.loads(metadata["said"]))
        weights, best = _below("model", tensors), _below("best", tensors)
        if any(_kinds(each) != _kinds(model.state_dict()) for each in (weights, best or weights)):
            raise ValueError("its weights are those of another model")
        if isinstance(state, RunState) and bool(best) != bool(state.best_epoch):
            raise ValueError("it has no weights of its best epoch")
        model.load_state_dict(weights)
        for number, optimizer in enumerate(optimizers):
            _load_optimizer(optimizer, _below(f"optimizer.{number}", tensors))
        torch.set_rng_state(tensors["random.cpu"])
    except (SafetensorError, OSError, LookupError, TypeError, ValueError, RuntimeError) as error:
        cause = (str(error) or type(error).__name__).splitlines()[0]
        if isinstance(error, ValidationError):
            cause = "it does not say how far the run has come"
        raise GlassformerError(
            f"{path} cannot be resumed ({cause}); start the run again with `overwrite=True`"
        ) from error
    if torch.cuda.is_available() and "random.cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random.cuda"])
    return state, best


def _kinds(weights: dict[str, Tensor]) -> dict[str, Any]:
    return {name: (tensor.shape, tensor.dtype) for name, tensor in weights.items()}


def _digest(tensors: dict[str, Tensor], text: str) -> str:
    plain = {name: tensor.reshape(-1).view(torch.uint8).numpy() for name, tensor in tensors.items()}
    return digest_of_arrays(plain, text)  # as bytes, because NumPy has no bfloat16; the model knows the shapes


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    start = prefix + "."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}


def _load_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    per_parameter: dict[int, dict[str, Any]] = {}
    shapes = [parameter.shape for group in optimizer.param_groups for parameter in group["params"]]
    for name, tensor in tensors.items():
        index, key = name.split(".")
        per_parameter.setdefault(int(index), {})[key] = tensor
    buffers = next(names for kind, names in _BUFFERS.items() if isinstance(optimizer, kind))
    for number, values in per_parameter.items():
        found = {key: tensor.shape for key, tensor in values.items()}
        if found != {key: torch.Size() if key == "step" else shapes[number] for key in buffers}:
            raise ValueError("its optimizer is that of another model")
    optimizer.load_state_dict(optimizer.state_dict() | {"state": per_parameter})
