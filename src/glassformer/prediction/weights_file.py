"""`model.safetensors`: its header is compared with the model that `config.json` describes, before memory is allocated.

The header holds the names, types and shapes of all tensors; the library checks that it matches the file. The model is
first built without memory, on torch's device `meta`. It is built for real only if its tensors match the header.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from glassformer.errors import GlassformerError, is_out_of_memory
from glassformer.models.memory import shapes_only

Module = TypeVar("Module", bound=nn.Module)

_FLOATS = {"F64", "F32", "F16", "BF16"}
"""The types of weights that can be read. They become float32."""
_INTEGERS = {"I64"}
"""The types of counters, like the number of batches of a batch norm."""
_LARGE_TABLES = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Described(Generic[Module]):
    """The model that `config.json` describes.

    Attributes:
        depth: the number of blocks; 0 for a design without such a setting.
    """

    build: Callable[[], Module]
    depth: int


def read_weights(path: Path, described: Described[Module]) -> Module:
    """Return the model with the weights of the file.

    Raises:
        GlassformerError: the file is damaged, does not hold the weights of this model, or holds NaN or infinite ones.
    """
    check_weights(path, described)
    model = _built(described, path)
    with _named_damage(path):
        stored = load_file(path)
    model.load_state_dict(stored)
    if odd := not_finite(model):
        raise GlassformerError(f"{path}: {odd} holds NaN or infinite weights; the file is damaged")
    return model


def not_finite(model: nn.Module) -> str | None:
    """Return the name of weights that are NaN or infinite, or None."""
    return next((name for name, tensor in model.state_dict().items() if not tensor.isfinite().all()), None)


def check_weights(path: Path, described: Described[Any]) -> None:
    """Compare the header of the file with the model, without loading either.

    Raises:
        GlassformerError: the file is damaged, or belongs to another model.
    """
    header = _read_header(path)
    if described.depth > len(header):  # each block has at least one tensor; do not even build so many
        raise GlassformerError(
            f"{path} holds {len(header)} tensors, too few for the {described.depth} blocks that config.json describes; "
            "the files come from different models"
        )
    with shapes_only():
        model = _built(described, path)
    _compare(header, model, path)


def _read_header(path: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the type and the shape of each tensor by its name, without reading the tensors."""
    if not path.is_file():  # a folder, or a pipe or device, which may never end
        raise GlassformerError(f"{path} is not a file; copy the folder again")
    with _named_damage(path), safe_open(path, framework="pt") as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (it is not a mapping)
        return {name: (part.get_dtype(), tuple(part.get_shape())) for name, part in slices.items()}


def _compare(header: Mapping[str, tuple[str, tuple[int, ...]]], model: nn.Module, path: Path) -> None:
    """Compare the header of a file with a model, which may have no memory."""
    expected = model.state_dict()
    for name in [*expected, *header]:
        wanted, (dtype, found) = expected.get(name), header.get(name, ("", None))
        shape = None if wanted is None else tuple(wanted.shape)
        if wanted is None or found != shape:
            raise GlassformerError(
                f"{path}: {name} is {'absent' if found is None else found} where config.json implies "
                f"{'none' if shape is None else shape}; the files come from different models"
            )
        if dtype not in (_FLOATS if wanted.is_floating_point() else _INTEGERS):
            raise GlassformerError(
                f"{path}: {name} is of the type {dtype}; weights are read from {', '.join(sorted(_FLOATS))}"
            )
    weights = sum(tensor.nbytes for tensor in expected.values())
    tables = sum(buffer.nbytes for name, buffer in model.named_buffers() if name not in expected)
    if tables > max(weights, _LARGE_TABLES):
        raise GlassformerError(
            f"{path.parent}: config.json implies tables of {tables >> 20:,} MiB beside weights of "
            f"{weights >> 20:,} MiB (max_seq_len sets their size); the file is damaged"
        )


def write_weights(path: Path, model: nn.Module) -> None:
    """Write the file.

    Raises:
        OSError, SafetensorError: the file cannot be written, for example because the disk is full.
    """
    save_file({name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}, path)


def _built(described: Described[Module], path: Path) -> Module:
    try:
        return described.build()
    except (ArithmeticError, MemoryError, RuntimeError, TypeError, ValueError) as error:
        # Sizes that are too large for memory or for a tensor, or that contradict each other.
        cause = (str(error).splitlines() or [type(error).__name__])[0]
        raise GlassformerError(
            f"{path.parent}: the model that config.json describes cannot be built ({cause[:200]})"
        ) from error


@contextmanager
def _named_damage(path: Path) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:  # of torch, where a file cannot be opened
        if is_out_of_memory(error):
            raise
        raise GlassformerError(f"{path} cannot be read: {error}") from error
    except (SafetensorError, OSError) as error:
        raise GlassformerError(f"{path} is cut short or damaged ({error}); copy the folder again") from error
