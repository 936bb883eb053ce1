"""Remember what takes long and is made again and again: fits of the counting reader, and ONNX graphs of transformers.

A fit is a function of its rows, labels and weights, a graph of the model. Where a test changed what they look at, they
are made anew. Tests that only need some fit, or some checks of the doctor, take few steps.
"""

from __future__ import annotations

import functools
import hashlib
import io
import pickle
import shutil
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from glassformer.alignment import answers
from glassformer.doctor import examine, overfit, rate_range, signals
from glassformer.evaluation import baselines
from glassformer.exporting import onnx
from glassformer.readers import linear
from glassformer.readers.counting import fitting, matrices, problem, ridge
from glassformer.readers.reader import Fold
from glassformer.training import time_plan

_MOST_ROWS = 5_000
_LOOKED_AT = [(vars(module), dict(vars(module))) for module in (fitting, matrices, problem)]
_PLAN, _FIT, _FITTED = fitting._Problem.plan, fitting._Problem.fit, fitting._Problem.fitted
_found: dict[tuple[Any, ...], Any] = {}
_write, _export = onnx.write_transformer, torch.onnx.export
Once = Callable[[str], AbstractContextManager[tuple[Path, bool]]]
_REGISTRY = "torch.onnx._internal.exporter._registration.ONNXRegistry.from_torchlib"


def remember_fits() -> None:
    problem: Any = fitting._Problem
    problem.plan, problem.fit = _remembering(_PLAN), _remembering(_FIT)


def remember_graphs(once: Once) -> None:
    """Keep each graph in a folder that this opens by its name."""
    vars(onnx)["write_transformer"] = functools.partial(_write_once, once)


@contextmanager
def few_steps() -> Iterator[None]:
    """Readers and baselines try one strength, in place of those from which held-out rows choose; checks are short."""
    with (
        patch.dict(fitting.STRENGTHS, {"tfidf": (16.0,), "nb": (1.0,)}),  # in place: such fits are remembered too
        patch.object(ridge, "STRENGTHS", (1.0,)),
        patch.object(linear, "STRENGTHS", (0.1,)),
        patch.object(linear, "_STEPS", 20),
        patch.object(baselines, "INVERSE_REGULARISATIONS", (4,)),
        patch.object(answers, "COUNT", 40),
        patch.object(signals, "STEPS", 4),
        patch.object(overfit, "_STEPS", 4),
        patch.object(rate_range, "STEPS", 6),
        patch.object(examine, "_FEWEST_RATES", 6),
        patch.object(time_plan, "_PROBE", (0.0, 0.05, 0.05)),
    ):
        yield


@pytest.fixture(autouse=True, scope="module")
def quick(request: pytest.FixtureRequest) -> Iterator[None]:
    """Take few steps where this is imported, unless a module says `WHOLE = True`."""
    with nullcontext() if getattr(request.module, "WHOLE", False) else few_steps():
        yield


def _remembering(compute: Callable[..., Any]) -> Callable[..., Any]:
    def found(problem: Any, *given: Any) -> Any:
        if len(problem.labels) > _MOST_ROWS or _changed():
            return compute(problem, *given)
        key = (compute, _digest(problem), repr(fitting.STRENGTHS), *map(_hashable, given))
        if key not in _found:
            _found[key] = compute(problem, *given)
        return _found[key]

    return found


def _hashable(given: Any) -> Hashable:
    if isinstance(given, np.ndarray):
        return given.tobytes()
    if isinstance(given, Fold):
        return given.learned.tobytes(), given.held_out.tobytes()
    return tuple(map(_hashable, given)) if isinstance(given, list) else given


def _changed() -> bool:
    modules = any(now.get(name) is not value for now, start in _LOOKED_AT for name, value in start.items())
    return modules or fitting._Problem.fitted is not _FITTED


def _digest(problem: Any) -> bytes:
    """Return a digest of everything that the problem holds, and keep it there."""
    if "digest" not in vars(problem):
        seen = hashlib.blake2b(repr((problem.outputs, problem.n_classes)).encode())
        for counts in problem.counts:
            seen.update(repr((counts.family, counts.matrix.shape, list(counts.ngrams))).encode())
            for part in (counts.matrix.indptr, counts.matrix.indices, counts.matrix.data):
                seen.update(part.tobytes())
        for array in (problem.labels, problem.row_weights, problem.positive_weights):
            seen.update(b"none" if array is None else repr((array.dtype, array.shape)).encode() + array.tobytes())
        vars(problem)["digest"] = seen.digest()
    digest: bytes = vars(problem)["digest"]
    return digest


def _write_once(once: Once, model: nn.Module, path: Path, vocab_size: int, max_seq_len: int) -> None:
    model.cpu().eval()  # as writing leaves it
    key = _Whole.digest((model, vocab_size, max_seq_len))
    if key is None or torch.onnx.export is not _export:
        _write(model, path, vocab_size, max_seq_len)
        return
    with once(f"graph-{key}") as (folder, _):
        kept = folder / "graph"
        if kept.exists():
            shutil.copyfile(kept, path)
            return
        with patch(_REGISTRY, staticmethod(_operators())):
            _write(model, path, vocab_size, max_seq_len)
        if [path] == list(path.parent.glob(f"{path.name}*")):  # and no file of weights beside it
            shutil.copyfile(path, kept)


@functools.cache
def _operators() -> Any:
    """What gathers all that ONNX expresses, once for all graphs."""
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    return functools.cache(ONNXRegistry.from_torchlib)


class _Whole(pickle.Pickler):
    """Writes all that a model holds, and of a tensor its values alone."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, nn.Module):  # a set has another order in each process
            reduced: Any = value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
            make, given, state, *_ = reduced
            held = {name: sorted(part, key=repr) if isinstance(part, set) else part for name, part in state.items()}
            return make, given, held
        if not isinstance(value, Tensor):
            return NotImplemented
        return bytearray, (value.detach().numpy().tobytes(),), {"is": (str(value.dtype), tuple(value.shape))}

    @classmethod
    def digest(cls, value: object) -> str | None:
        """Return a digest, the same in each process, or None if something is defined inside a function."""
        file = io.BytesIO()
        try:
            cls(file).dump(value)
        except (AttributeError, pickle.PicklingError):
            return None
        return hashlib.blake2b(file.getvalue(), digest_size=16).hexdigest()
