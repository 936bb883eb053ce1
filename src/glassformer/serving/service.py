"""What all routes share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from glassformer.serving.limits import Limits
from glassformer.serving.served_model import ServedModel
from glassformer.serving.shapes import Refusal
from glassformer.serving.worker import Worker

_REASONS = {
    403: "The request comes from another website.",
    413: "The request is too large.",
    422: "The request cannot be understood, or a text is too long.",
    429: "Too many requests wait.",
}
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refusal, "description": said} for status, said in _REASONS.items()
}


@dataclass(frozen=True, kw_only=True)
class Service:
    """The models by name, the limits on requests, and the thread that asks the models."""

    models: Mapping[str, ServedModel]
    limits: Limits
    worker: Worker
