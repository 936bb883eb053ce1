"""Listen to the values inside a model. Each has a stable name; `docs/how-to/inside.md` lists names and shapes."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from torch import Tensor, nn

from glassformer.layers.taps import Listener, Tap

_TRUNK, _TAP = "trunk.", "tap_"


def taps_of(model: nn.Module) -> dict[str, Tap]:
    """Return the taps of a model by name. Names leave out `trunk.`, and mean the same in every design."""
    taps = {}
    for path, module in model.named_modules():
        if isinstance(module, Tap):
            place, dot, own = path.removeprefix(_TRUNK).rpartition(".")
            taps[f"{place}{dot}{own.removeprefix(_TAP)}"] = module
    return taps


@contextmanager
def listeners(model: nn.Module, by_name: Mapping[str, Listener]) -> Iterator[None]:
    """Inside the `with` block, call each listener with the values that pass the tap of its name.

    While a tap listens to scores or weights, attention is computed step by step: the fused kernel does not return them.

    Raises:
        ValueError: the model has no tap of that name.
    """
    taps = taps_of(model)
    if unknown := by_name.keys() - taps.keys():
        raise ValueError(f"the model has no tap {min(unknown)!r}; it has {', '.join(taps) or 'none at all'}")
    before = {name: taps[name].listener for name in by_name}
    try:
        for name, listener in by_name.items():
            taps[name].listener = listener
        yield
    finally:
        for name, listener_before in before.items():
            taps[name].listener = listener_before


@contextmanager
def listening(model: nn.Module, names: Iterable[str] | None = None) -> Iterator[dict[str, Tensor]]:
    """Record what passes the taps of these names, or all taps. The dictionary holds the last value by name.

    Raises:
        ValueError: the model has no tap of that name.
    """
    heard: dict[str, Tensor] = {}
    with listeners(model, {name: partial(heard.__setitem__, name) for name in names or taps_of(model)}):
        yield heard
