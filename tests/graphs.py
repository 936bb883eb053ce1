"""Write an ONNX graph once for all models that are built alike: each takes two seconds.

What a model computes does not depend on its weights, so their values are put into the graph that another one left. An
export is compared with its model in any case, so a weight at a wrong place fails.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import pickle
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, nn

from glassformer.exporting import onnx

Once = Callable[[str], AbstractContextManager[tuple[Path, bool]]]
Places = dict[str, tuple[str, bool]]
"""The parameter that each weight of a graph holds, and whether it stands there transposed."""
_write, _export = onnx.write_transformer, torch.onnx.export
_REGISTRY = "torch.onnx._internal.exporter._registration.ONNXRegistry.from_torchlib"


def remember_graphs(once: Once) -> None:
    """Keep each graph in a folder that this opens by its name."""
    vars(onnx)["write_transformer"] = functools.partial(_write_once, once)


def _write_once(once: Once, model: nn.Module, path: Path, vocab_size: int, max_seq_len: int) -> None:
    model.cpu().eval()  # as writing leaves it
    key = _Design.digest((model, vocab_size, max_seq_len))
    if key is None or torch.onnx.export is not _export:
        _write(model, path, vocab_size, max_seq_len)
        return
    weights = {name: weight.detach().numpy() for name, weight in model.named_parameters()}
    with once(f"graph-{key}") as (folder, _):
        kept, places = folder / "graph", folder / "places.json"
        if places.exists():
            _fill_in(kept, json.loads(places.read_text()), weights, path)
            return
        with patch(_REGISTRY, staticmethod(_operators())):
            _write(model, path, vocab_size, max_seq_len)
        if [path] == list(path.parent.glob(f"{path.name}*")):  # and no file of weights beside it
            found = _places(path, weights)
            if found is not None:
                kept.write_bytes(path.read_bytes())
                places.write_text(json.dumps(found))


def _places(path: Path, weights: Mapping[str, np.ndarray]) -> Places | None:
    """Return where a graph holds each weight, or None if some stands nowhere, or could be another."""
    from onnx import load, numpy_helper

    found: Places = {}
    for held in load(path).graph.initializer:
        values = numpy_helper.to_array(held)
        if held.name in weights:
            alike = [held.name] if np.array_equal(weights[held.name], values) else []
        else:
            alike = [name for name, weight in weights.items() if weight.ndim == 2 and np.array_equal(weight.T, values)]
        if len(alike) > 1:
            return None
        for name in alike:
            found[held.name] = name, name != held.name
    return found if {name for name, _ in found.values()} == set(weights) else None


def _fill_in(kept: Path, places: Places, weights: Mapping[str, np.ndarray], path: Path) -> None:
    from onnx import load, numpy_helper, save

    model = load(kept)
    for held in model.graph.initializer:
        if held.name in places:
            name, transposed = places[held.name]
            values = np.ascontiguousarray(weights[name].T if transposed else weights[name])
            held.CopyFrom(numpy_helper.from_array(values, held.name))
    save(model, path)


@functools.cache
def _operators() -> Any:
    """What gathers all that ONNX expresses, once for all graphs."""
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    return functools.cache(ONNXRegistry.from_torchlib)


class _Design(pickle.Pickler):
    """Writes all that a model holds: of a parameter its shape, and of another tensor its values."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, nn.Module):  # a set has another order in each process
            reduced: Any = value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
            make, given, state, *_ = reduced
            held = {name: sorted(part, key=repr) if isinstance(part, set) else part for name, part in state.items()}
            return make, given, held
        if not isinstance(value, Tensor):
            return NotImplemented
        values = () if isinstance(value, nn.Parameter) else (value.detach().numpy().tobytes(),)
        return bytearray, values, {"is": (str(value.dtype), tuple(value.shape))}

    @classmethod
    def digest(cls, value: object) -> str | None:
        """Return a digest, the same in each process, or None if something is defined inside a function."""
        file = io.BytesIO()
        try:
            cls(file).dump(value)
        except (AttributeError, pickle.PicklingError):
            return None
        return hashlib.blake2b(file.getvalue(), digest_size=16).hexdigest()
