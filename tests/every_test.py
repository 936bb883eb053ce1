"""What every test shares: shapes checked as types, one thread, the same random numbers each time."""

import gc
import os
import random
import signal
import sys

import numpy as np
import pytest
import torch
from hypothesis import register_random, settings

from glassformer.data import checksums
from tests.shapes import check_shapes

# Before anything imports these rooms: every call in a test checks the shapes that the signatures promise.
PURE = ("advantages", "divergence", "losses")
check_shapes(["glassformer.layers", "glassformer.models", *(f"glassformer.alignment.{name}" for name in PURE)])

from tests.bodies import use_small_body  # noqa: E402
from tests.fits import remember_fits  # noqa: E402

torch.set_num_threads(1)

pytest_plugins = ["tests.data.postgresql", "tests.trained"]

remember_fits()
use_small_body()

# Keep the bytecode of modules and tests: compiling takes a process that tests start one second, and pytest ten.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell without job control starts what runs in the background with Ctrl-C ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class TorchRandom:
    """torch's generator as hypothesis wants to see it, so that a failing example fails again when it is tried again.

    `torch.manual_seed` takes longer: it also notes, with its stack, what devices that are not there are to do.
    """

    seed = staticmethod(torch.default_generator.manual_seed)
    getstate = staticmethod(torch.get_rng_state)
    setstate = staticmethod(torch.set_rng_state)


torch_random = TorchRandom()  # hypothesis keeps a weak reference
register_random(torch_random)
settings.register_profile("glassformer", deadline=None, max_examples=20, derandomize=True, database=None)
settings.load_profile("glassformer")


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes are no name of a test: compressed ones hold the second, and two processes must collect the same tests."""
    return "bytes" if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def seeds() -> None:
    """Every test starts from the same state of every generator."""
    random.seed(0)
    np.random.seed(0)
    torch_random.seed(0)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with files of what takes long: at the end it would leave all processes but one without work.

    What a file trains for its tests is trained once, if they stay together.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_collection_finish() -> None:
    """Keep the garbage collector from walking through all modules and tests again and again."""
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)


@pytest.fixture
def unsealed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test changes files of a folder by hand, as whoever wants to do harm would: with new checksums, or with none."""
    monkeypatch.setattr(checksums, "read_sums", lambda _: {})
