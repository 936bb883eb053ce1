from datetime import timedelta
from pathlib import Path

import pytest
import torch

from glassformer.errors import UsageError
from glassformer.training import many_processes
from glassformer.training.many_processes import ManyProcesses, choose_device_of_process
from glassformer.training.processes import LostProcessError
from tests.running import TwoProcesses


@pytest.mark.slow
def test_two_processes_sum_share_and_agree(tmp_path: Path) -> None:
    job = TwoProcesses("-m", "tests.training.two_processes", tmp_path, log=tmp_path / "log")
    assert job.end() == 0, job.said
    assert "all checks passed" in job.said


def test_each_process_has_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "3")
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    assert choose_device_of_process("cpu") == "cpu"
    monkeypatch.setattr("glassformer.training.many_processes.choose_device", lambda name: name)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    assert choose_device_of_process("cuda") == "cuda:3"
    with pytest.raises(UsageError, match=r"`device='cuda:1'` names one device"):
        choose_device_of_process("cuda:1")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    with pytest.raises(UsageError, match="4 processes on this machine need a GPU each, and it has 3"):
        choose_device_of_process("cuda")


def test_processes_that_do_not_meet_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_: str, timeout: timedelta) -> None:
        assert timeout.total_seconds() <= 60
        raise torch.distributed.DistNetworkError("The client socket has timed out\n[C++ stack]")

    monkeypatch.setattr(many_processes, "rendezvous", closed)
    monkeypatch.setenv("MASTER_ADDR", "node7")
    monkeypatch.setenv("MASTER_PORT", "2950")
    with pytest.raises(LostProcessError, match=r"at node7:2950 \(The client socket has timed out\); start all of them"):
        ManyProcesses("cpu")
