import threading
import time

import pytest

from glassformer.prediction.run_limit import ended_after

pytest.importorskip("onnxruntime")


def watchers() -> int:
    return [thread.name for thread in threading.enumerate()].count("run-limit")


def test_a_run_is_ended_when_its_time_is_over_and_no_other() -> None:
    with ended_after(60) as long, ended_after(0.01) as short:
        began = time.monotonic()
        while not short.terminate and time.monotonic() < began + 10:
            time.sleep(0.01)
        assert short.terminate
        assert not long.terminate


def test_one_thread_looks_after_all_runs() -> None:
    for _ in range(20):
        with ended_after(60), ended_after(60):
            assert watchers() == 1
    time.sleep(0.3)  # it looked, and waits
    with ended_after(0.01) as later:
        began = time.monotonic()
        while not later.terminate and time.monotonic() < began + 10:
            time.sleep(0.01)
        assert later.terminate
    assert watchers() == 1
