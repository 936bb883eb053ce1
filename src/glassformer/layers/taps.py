"""Taps: they show the values inside a model to a listener. `models/listening.py` finds the taps of a model by name."""

from collections.abc import Callable

from torch import Tensor, nn

Listener = Callable[[Tensor], None]


class Tap(nn.Module):
    """Returns its input, and shows it to the listener if there is one. A layer names its taps `tap_<name>`."""

    def __init__(self) -> None:
        super().__init__()
        self.listener: Listener | None = None

    @property
    def heard(self) -> bool:
        return self.listener is not None

    def forward(self, values: Tensor) -> Tensor:
        if self.listener is not None:
            self.listener(values)
        return values

    def __call__(self, values: Tensor) -> Tensor:
        """Do without the machinery of hooks if there are none: a silent tap then costs next to nothing."""
        return super().__call__(values) if self._forward_hooks else self.forward(values)
