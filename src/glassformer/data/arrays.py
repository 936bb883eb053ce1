"""The types of arrays, and the files of a model folder that hold them. What is wrong with a file is said in one way."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from glassformer.errors import GlassformerError

Array = np.ndarray[Any, np.dtype[Any]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
IntArray = np.ndarray[Any, np.dtype[np.int64]]
FloatArray = np.ndarray[Any, np.dtype[np.float32]]
DoubleArray = np.ndarray[Any, np.dtype[np.float64]]
Numbers = DoubleArray
"""The numbers of texts, in the unit of a target."""

Real = TypeVar("Real", np.float32, np.float64)


def unit(vectors: np.ndarray[Any, np.dtype[Real]]) -> np.ndarray[Any, np.dtype[Real]]:
    """Scale each vector (…, width) to length 1. Zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.maximum(lengths, np.finfo(np.float32).tiny)


def some_of(rows: int, most: int, seed: int) -> IntArray:
    """Return the numbers of all rows, or of `most` that are drawn at random, in their order."""
    if rows <= most:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))


def check_is_file(path: Path) -> None:
    """Check that a file of a model folder can be opened.

    Raises:
        GlassformerError: it is missing, or is not a file.
    """
    if not path.exists():
        raise GlassformerError(f"{path} is missing; copy the whole folder again")
    if not path.is_file():  # it may be a pipe or device, which may never end
        raise GlassformerError(f"{path} is not a file; copy it again")


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of a safetensors file by their names.

    Raises:
        GlassformerError: the file is missing or damaged.
    """
    check_is_file(path)
    try:
        return load_file(path)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:  # also of a type that NumPy lacks
        raise GlassformerError(f"{path} is cut short or damaged ({error}); copy the folder again") from error


def read_array(path: Path, name: str) -> Array:
    """Return the array of this name from a safetensors file.

    Raises:
        GlassformerError: the file is missing or damaged, or has no such array.
    """
    arrays = read_arrays(path)
    if name not in arrays:
        raise GlassformerError(f"{path} is cut short or damaged (it holds no {name!r}); copy the folder again")
    return arrays[name]
