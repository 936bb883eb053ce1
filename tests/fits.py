"""Remember what takes long and is made again and again: fits of the counting reader.

A fit is a function of its rows, labels and weights. Where a test changed what it looks at, it is made anew. Tests that
only need some fit, or some checks of the doctor, take few steps.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from glassformer.alignment import answers
from glassformer.doctor import examine, overfit, rate_range, signals
from glassformer.evaluation import baselines
from glassformer.readers import folds, linear
from glassformer.readers.counting import fitting, matrices, problem, regression, ridge
from glassformer.readers.reader import Fold
from glassformer.training import time_plan
from glassformer.words import embedding_map

_MOST_ROWS = 5_000
_LOOKED_AT = [(vars(module), dict(vars(module))) for module in (fitting, matrices, problem, regression)]
_PLAN, _FIT, _FITTED = fitting._Problem.plan, fitting._Problem.fit, fitting._Problem.fitted
_found: dict[tuple[Any, ...], Any] = {}


def remember_fits() -> None:
    problem: Any = fitting._Problem
    problem.plan, problem.fit = _remembering(_PLAN), _remembering(_FIT)


@contextmanager
def few_steps(n_folds: int | None = None) -> Iterator[None]:
    """Readers and baselines try one strength, in place of those from which held-out rows choose; checks are short.

    With `n_folds`, rows are cut into so many folds: readers are fitted, and a transformer is trained, once for each.
    """
    with (
        patch.dict(fitting.STRENGTHS, {"tfidf": (16.0,), "nb": (1.0,)}),  # in place: such fits are remembered too
        patch.object(folds, "FOLDS", n_folds or folds.FOLDS),
        patch.object(baselines, "FOLDS", n_folds or baselines.FOLDS),
        patch.object(ridge, "STRENGTHS", (1.0,)),
        patch.object(linear, "STRENGTHS", (0.1,)),
        patch.object(linear, "_STEPS", 20),
        patch.object(baselines, "INVERSE_REGULARISATIONS", (4,)),
        patch.object(embedding_map, "_PENALTIES", (1.0, 1e3)),
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
    """Take few steps and folds where this is imported. A module may say `N_FOLDS = 4`, or `WHOLE = True`."""
    whole, n_folds = getattr(request.module, "WHOLE", False), getattr(request.module, "N_FOLDS", 2)
    with nullcontext() if whole else few_steps(n_folds):
        yield


@pytest.fixture(autouse=True, scope="module", name="quick")
def quick_with_all_folds() -> Iterator[None]:
    """Take few steps where this is imported."""
    with few_steps():
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
            seen.update(repr((counts.family, counts.matrix.shape, counts.named(np.arange(len(counts.sizes))))).encode())
            for part in (counts.matrix.indptr, counts.matrix.indices, counts.matrix.data):
                seen.update(part.tobytes())
        for array in (problem.labels, problem.row_weights, problem.positive_weights):
            seen.update(b"none" if array is None else repr((array.dtype, array.shape)).encode() + array.tobytes())
        vars(problem)["digest"] = seen.digest()
    digest: bytes = vars(problem)["digest"]
    return digest
