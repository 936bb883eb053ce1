import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from torch._C._distributed_c10d import HashStore

from glassformer.training.many_processes import Heartbeat

BEAT = 0.03


class NeverDone:
    """What one of the processes does not take part in."""

    def wait(self, timeout: timedelta) -> bool:
        time.sleep(timeout.total_seconds())
        raise RuntimeError("Operation timed out!")  # as gloo says it


class LongWork:
    """Work that takes many beats."""

    def __init__(self, beats: int) -> None:
        self.left = beats

    def wait(self, timeout: timedelta) -> bool:
        self.left -= 1
        return self.left < 0 or NeverDone().wait(timeout)


@contextmanager
def beating(*ranks: int, size: int = 3) -> Iterator[list[Heartbeat]]:
    store = HashStore()
    beats = [Heartbeat(store, rank, size, seconds=BEAT) for rank in ranks]
    yield beats
    for each in beats:
        each.end()


@pytest.mark.parametrize("gone", [0, 2])
def test_a_process_without_a_sign_of_life_is_named(gone: int) -> None:
    with beating(*{0, 1, 2} - {gone}) as beats:
        assert beats[-1].wait(NeverDone()) == gone  # type: ignore[arg-type]


def test_a_process_that_works_for_long_is_waited_for() -> None:
    with beating(0, 1, 2) as beats:
        assert beats[1].wait(LongWork(20)) is None  # type: ignore[arg-type]


def test_a_closed_connection_is_no_silence() -> None:
    class Closed:
        def wait(self, _: timedelta) -> bool:
            raise RuntimeError("Connection closed by peer")

    with beating(0, 1, 2) as beats, pytest.raises(RuntimeError, match="closed by peer"):
        beats[0].wait(Closed())  # type: ignore[arg-type]
