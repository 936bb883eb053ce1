"""What each token adds to the transformer's margin, by several methods.

The margin of a text is a weighted sum of its logits. All methods take the same argument and return (tokens,) values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from glassformer.data.arrays import DoubleArray
from glassformer.errors import UsageError
from glassformer.explanation.occluding import leave_one_out, occlusion, shapley
from glassformer.explanation.reading import TokenReading

Method = Callable[[TokenReading], DoubleArray]


def _looking_inside(name: str) -> Method:
    """Return a method of `gradients.py`. It is imported when it is used, because it needs PyTorch."""

    def method(reading: TokenReading) -> DoubleArray:
        if reading.model is None:
            able = ", ".join(name for name in METHODS if name not in INSIDE)
            raise UsageError(f"`method='{name.replace('_', '-')}'`: an exported model only answers; choose {able}")
        from glassformer.explanation import gradients

        return getattr(gradients, name)(reading)

    return method


METHODS: Mapping[str, Method] = {
    "shapley": shapley,
    "integrated-gradients": _looking_inside("integrated_gradients"),
    "gradient-x-input": _looking_inside("gradient_x_input"),
    "occlusion": occlusion,
    "leave-one-out": leave_one_out,
    "rollout": _looking_inside("rollout"),
}
INSIDE = {"integrated-gradients", "gradient-x-input", "rollout"}
"""The methods that look into the transformer, which an exported model does not allow."""
