import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from glassformer.training.processes import ALONE, Processes
from tests.bodies import SMALL
from tests.cli.terminal import glassformer, misused
from tests.running import PATIENCE, TwoProcesses
from tests.trained import review_rows, write_csv

SETTINGS = {
    "model.d_model": 16, "model.n_layers": 1, "model.n_heads": 2, "model.d_ff": 24, "model.max_seq_len": 16,
    "model.dropout": 0, "training.token_dropout": 0, "training.precision": "float32", "training.optimizer": "adamw",
    "training.epochs": 8, "training.min_steps_per_epoch": 25, "validation.fraction": 0.2, "validation.min_rows": 0,
    "model.body": SMALL,
}  # fmt: skip
"""Without anything random; AdamW, as Muon enlarges differences of rounding."""
GIVEN = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
N_FOLDS = 4  # in this process as in those that it starts
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="finds the processes in /proc")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("table") / "reviews.csv", review_rows(300))


@pytest.fixture(scope="module")
def alone(table: Path) -> Path:
    """The model of one process."""
    folder = table.parent / "alone"
    assert glassformer("train", table, "--out", folder, *GIVEN).code == 0
    return folder


def in_two(*arguments: object, log: Path) -> TwoProcesses:
    return TwoProcesses("-m", "glassformer", *arguments, log=log)


def assert_same_run(folder: Path, other: Path) -> None:
    first, second = (json.loads((each / "metrics.json").read_text())["history"] for each in (folder, other))
    assert len(first) == len(second) == SETTINGS["training.epochs"]
    for row, expected in zip(first, second, strict=True):
        assert row.keys() == expected.keys()
        for figure in expected.keys() - {"seconds"}:
            assert row[figure] == pytest.approx(expected[figure], abs=1e-5), figure
    weights = load_file(other / "model.safetensors")
    for name, tensor in load_file(folder / "model.safetensors").items():
        assert (tensor - weights[name]).abs().max() < 1e-4, name


@pytest.mark.slow
def test_two_processes_train_the_model_of_one(table: Path, alone: Path, tmp_path: Path) -> None:
    run = in_two("train", table, "--out", tmp_path / "out", *GIVEN, log=tmp_path / "log")
    assert run.end() == 0, run.said
    assert_same_run(tmp_path / "out", alone)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {path.name for path in alone.iterdir()}
    assert run.said.count("epoch 1: ") == run.said.count("trained in") == 1, run.said
    assert "error" not in run.said.lower()


@contextmanager
def by_hand(rank: int, port: int, *arguments: object, first: str = "") -> Iterator[subprocess.Popen[str]]:
    """One of two processes without torchrun, as the scheduler of a cluster starts them. It imports torch itself."""
    given = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    program = f"{first}\nfrom glassformer.__main__ import main\nmain()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=os.environ | {name: str(value) for name, value in given.items()},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.mark.slow
def test_a_lost_process_is_named_where_torchrun_is_not(table: Path, tmp_path: Path) -> None:
    given = ("train", table, "--out", tmp_path / "out", *GIVEN, "--set", "training.epochs=3000")
    port = free_port()
    with by_hand(0, port, *given) as first, by_hand(1, port, *given) as second:
        assert first.stderr is not None
        assert any("epoch 1: " in line for line in first.stderr)
        first.kill()
        _, said = second.communicate(timeout=PATIENCE)
    assert second.returncode == 1
    (line,) = said.splitlines()
    assert re.match(r"error: process 0 of this run \(RANK=0\) does not .* saved up to step \d+\..*--resume", line)


@pytest.mark.slow
def test_a_process_that_reaches_no_other_says_so(table: Path, tmp_path: Path) -> None:
    soon = "import datetime, os\nos.environ['TORCH_CPP_LOG_LEVEL'] = 'FATAL'\n"
    soon += "from glassformer.training import many_processes as many\nmany._LONGEST_MEETING = datetime.timedelta(0, 4)"
    with by_hand(1, port := free_port(), "train", table, "--out", tmp_path / "out", *GIVEN, first=soon) as alone:
        _, said = alone.communicate(timeout=PATIENCE)
    assert alone.returncode == 1
    (line,) = said.splitlines()
    assert line.startswith(f"error: the processes of this run do not reach each other at 127.0.0.1:{port} (")


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_process_ends_the_run_which_one_process_continues(
    rank: int, table: Path, alone: Path, tmp_path: Path
) -> None:
    given = ("train", table, "--out", tmp_path / "out", *GIVEN)
    run = in_two(*given, log=tmp_path / "log")
    run.wait_until_it_says("epoch 1: ")
    os.kill(run.worker(rank), signal.SIGKILL)
    assert run.end() != 0
    said = re.findall(r"error: another process of this run has ended.* saved up to step (\d+)\..*--resume", run.said)
    assert len(said) == 1, run.said
    assert "epoch 8: " not in run.said
    resumed = glassformer(*given, "--resume")
    assert resumed.code == 0, resumed.err
    assert f"resumed at step {int(said[0]) + 1} " in resumed.err
    assert_same_run(tmp_path / "out", alone)


@pytest.mark.slow
def test_two_processes_continue_the_run_of_one_until_ctrl_c(
    table: Path, alone: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("train", table, "--out", tmp_path / "out", *GIVEN)
    interrupt_after_step(7, monkeypatch)
    assert glassformer(*given).code == 130
    monkeypatch.undo()
    run = in_two(*given, "--resume", log=tmp_path / "log")
    run.wait_until_it_says("epoch 1: ")
    run.process.send_signal(signal.SIGINT)
    assert run.end() != 0
    assert run.said.count("resumed at step 8 (epoch 1)") == 1
    assert run.said.count("stopped; the run is saved in") == 1, run.said
    assert f"torchrun --nproc-per-node 2 -m glassformer train {table}" in run.said
    assert "error: " not in run.said
    assert glassformer(*given, "--resume").code == 0
    assert_same_run(tmp_path / "out", alone)


def interrupt_after_step(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from glassformer.cli.live import LiveView

    shown = LiveView.on_step

    def on_step(view: LiveView, report: Any) -> None:
        shown(view, report)
        if report.step_of_epoch == step:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(LiveView, "on_step", on_step)


@pytest.mark.slow
def test_misuse_is_said_once_and_ends_both(table: Path, tmp_path: Path) -> None:
    run = in_two("train", table.parent / "no.csv", "--out", tmp_path / "out", log=tmp_path / "log")
    assert run.end() != 0
    assert run.said.count("error: ") == 1, run.said
    assert re.search(r"rank +: 0 .*\n +exitcode +: 2", run.said) or re.search(r"exitcode: 2", run.said)
    assert not (tmp_path / "out").exists()


STARTED = {"LOCAL_RANK": 0, "WORLD_SIZE": 2, "MASTER_ADDR": "localhost", "MASTER_PORT": 29500}


def test_a_table_that_one_machine_lacks_is_refused_after_all_have_joined(
    table: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before that, only the first process speaks."""
    for name, value in {**STARTED, "RANK": 1}.items():
        monkeypatch.setenv(name, str(value))
    joined: list[str] = []

    def join(device: str) -> tuple[Processes, str]:
        joined.append(device)
        return ALONE, device

    monkeypatch.setattr("glassformer.cli.train.join", join)
    monkeypatch.setattr("glassformer.cli.torchrun.time.sleep", lambda _: None)
    outcome = glassformer("train", table, "--label", "none", "--out", tmp_path / "out", "--device", "cpu")
    assert (outcome.code, joined) == (2, ["cpu"])


@pytest.mark.parametrize("rank", [0, 1])
def test_other_commands_are_refused_by_the_first_process(rank: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**STARTED, "RANK": rank}.items():
        monkeypatch.setenv(name, str(value))
    waited: list[float] = []
    monkeypatch.setattr("glassformer.cli.torchrun.time.sleep", waited.append)
    outcome = glassformer("predict", "model", "a text")
    assert len(waited) == rank, "the first process ends first, so that torchrun does not stop it before it has spoken"
    if rank == 0:
        misused(outcome, "torchrun started 2 processes", "only train and pretrain", "run `glassformer predict` without")
    else:
        assert (outcome.code, outcome.out, outcome.err) == (2, "", "")


@pytest.mark.parametrize("given", [{"WORLD_SIZE": "2"}, {"RANK": "0", "WORLD_SIZE": "1"}], ids=str)
def test_a_process_that_was_started_alone_works_alone(given: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert glassformer("version").code == 0


def test_several_processes_without_torchrun_are_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("RANK", "0")
    said = "WORLD_SIZE=3", "LOCAL_RANK and MASTER_ADDR and MASTER_PORT are not set", "torchrun --nproc-per-node 3"
    misused(glassformer("train", "no.csv"), *said, "unset WORLD_SIZE")
