"""`predict --engine ray`: real workers, which are killed."""

import json
import os
import re
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.installed import pip_install
from tests.cli.shards import answers, finished, write_french, write_shards
from tests.cli.terminal import Outcome, glassformer, misused
from tests.data.test_folder_encoding import FRENCH
from tests.running import PATIENCE, Running
from tests.support import unchecked_shapes
from tests.trained import Trained

slow = pytest.mark.slow
on_linux = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads /proc")
TRIED_TWICE = """
from glassformer.prediction import on_ray
on_ray.RETRIES = 1
from glassformer.__main__ import main
main()
"""


@pytest.fixture(scope="module")
def exported(attending: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that workers load without torch."""
    folder = tmp_path_factory.mktemp("exported") / "model"
    with unchecked_shapes():
        assert glassformer("export", attending.folder, "--format", "onnx", "--out", folder).code == 0
    return folder


def writers(out: Path, shard: str) -> set[int]:
    """Return the processes that are writing the answers to a shard."""
    names = os.listdir(out) if out.is_dir() else []  # noqa: PTH208 (a file may disappear meanwhile)
    found = (re.fullmatch(rf"\.{shard}\.csv\.writing-.*-(\d+)", name) for name in names)
    return {int(each[1]) for each in found if each}


def descendants(pid: int) -> set[int]:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        children = {int(child) for task in tasks for child in (task / "children").read_text().split()}
    except OSError:  # it has just ended
        return set()
    return children.union(*map(descendants, children))


def listening_elsewhere(processes: set[int]) -> list[str]:
    """Return the addresses besides loopback on which these processes wait for connections."""
    inodes = set()
    for pid in processes:
        with suppress(OSError):  # a process or a file of it may end meanwhile
            for opened in Path(f"/proc/{pid}/fd").iterdir():
                inodes |= set(re.findall(r"socket:\[(\d+)\]", str(opened.readlink())))
    lines = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    loopback = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")
    mine = [line[1] for line in lines if line[3] == "0A" and line[9] in inodes]
    assert mine  # Ray does listen
    return [address for address in mine if address.split(":")[0] not in loopback]


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and is still listed does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def is_worker(pid: int) -> bool:
    """Whether a process is a worker of Ray: one that answers, that waits, or that has just been started."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return False
    return any(name in command for name in (b"ray::_answer", b"ray::IDLE", b"default_worker.py"))


def all_end(processes: set[int]) -> bool:
    until = time.monotonic() + PATIENCE
    while any(map(alive, processes)) and time.monotonic() < until:
        time.sleep(0.1)
    return not any(map(alive, processes))


@slow
@on_linux
def test_workers_that_are_killed_lose_no_row_and_answer_none_twice(exported: Path, tmp_path: Path) -> None:
    """One shard costs a worker each time it is tried, and is left out. Another costs one worker, and a third is bad."""
    shards, out = write_shards(tmp_path / "shards", 8, 4_000, "csv"), tmp_path / "answers"
    bad = shards / "part-009.csv"
    bad.write_text("body\ngood\n")
    arguments = (exported, "--file", shards, "--out", out, "--engine", "ray", "--workers", 2)
    run = Running("-c", TRIED_TWICE, "predict", *arguments, log=tmp_path / "log")
    killed: dict[str, set[int]] = {"part-000": set(), "part-005": set()}

    def kill() -> bool:
        for shard, times in (("part-000", 2), ("part-005", 1)):
            for pid in writers(out, shard) - killed[shard]:
                if len(killed[shard]) < times:
                    os.kill(pid, signal.SIGKILL)
                    killed[shard].add(pid)
        return len(killed["part-000"]) == 2 and len(killed["part-005"]) == 1

    run.wait_until(kill)
    assert run.end() == 2, run.said
    assert "error: 2 shards have no answers, of 9" in run.said
    assert "part-009.csv: there is no column 'text'" in run.said
    assert "part-000.csv: 2 workers were lost over it; if memory is short, use fewer --workers" in run.said
    assert "Traceback" not in run.said
    assert "(raylet)" not in run.said
    assert answers(out)["id"].to_list() == list(range(4_000, 32_000))
    bad.unlink()
    said = glassformer("predict", *arguments[:5], "--json")  # the plain engine continues
    assert said.document["finished_by_earlier_runs"] == 7
    assert answers(out)["id"].to_list() == list(range(32_000))


@slow
@on_linux
def test_a_killed_driver_takes_its_workers_along_and_is_continued(exported: Path, tmp_path: Path) -> None:
    """What the workers have answered is what one process answers."""
    shards, out = write_shards(tmp_path / "shards", 6, 4_000, "csv"), tmp_path / "answers"
    arguments = (exported, "--file", shards, "--out", out, "--engine", "ray", "--workers", 1)
    run = Running("-m", "glassformer", "predict", *arguments, log=tmp_path / "log")
    run.wait_until(lambda: finished(out))
    of_ray = descendants(run.process.pid)
    workers = {pid for pid in of_ray if is_worker(pid)}
    assert workers
    assert listening_elsewhere({pid for pid in of_ray if alive(pid)}) == []
    run.process.send_signal(signal.SIGKILL)
    assert run.end() == -signal.SIGKILL
    assert all_end(workers)
    done = len(finished(out))
    assert 1 <= done < 6
    name = json.loads(finished(out)[0])["shard"]
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / name).hardlink_to(shards / name)
    assert glassformer("predict", exported, "--file", tmp_path / "one", "--out", tmp_path / "alone").code == 0
    assert answers(tmp_path / "alone")["prediction"].equals(pl.read_csv(out / name)["prediction"])
    said = glassformer("predict", *arguments[:5], "--json")  # the plain engine continues
    assert said.document["finished_by_earlier_runs"] == done
    assert answers(out)["id"].to_list() == list(range(24_000))
    assert len(finished(out)) == 6


@slow
@on_linux
def test_ctrl_c_ends_the_workers(exported: Path, tmp_path: Path) -> None:
    shards, out = write_shards(tmp_path / "shards", 6, 4_000, "csv"), tmp_path / "answers"
    arguments = (exported, "--file", shards, "--out", out, "--engine", "ray", "--workers", 1)
    run = Running("-m", "glassformer", "predict", *arguments, log=tmp_path / "log")
    run.wait_until(lambda: finished(out))
    of_ray = descendants(run.process.pid)
    run.process.send_signal(signal.SIGINT)
    assert run.end() == 130, run.said
    assert "stopped; finished shards are kept in" in run.said
    assert "Traceback" not in run.said
    assert all_end(of_ray)
    assert answers(out)["id"].to_list() == sorted(answers(out)["id"])
    assert 1 <= len(finished(out)) < 6


@slow
@on_linux
def test_the_shards_are_read_in_one_encoding(exported: Path, tmp_path: Path) -> None:
    shards, out = write_french(tmp_path / "shards"), tmp_path / "answers"
    arguments = (exported, "--file", shards, "--out", out, "--engine", "ray", "--workers", 1)
    run = Running("-m", "glassformer", "predict", *arguments, log=tmp_path / "log")
    assert run.end() == 0, run.said
    assert sum(line.startswith("17 of 19 files read as Windows-1252: ") for line in run.said.splitlines()) == 1
    assert answers(out)["text"].to_list() == [*FRENCH]


def test_without_ray_the_message_says_how_to_install_it(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    shards = write_shards(tmp_path / "shards", 1, 1)
    said = glassformer("predict", reviews.folder, "--file", shards, "--out", tmp_path / "a", "--engine", "ray")
    misused(said, pip_install("ray"))
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("address", ["nowhere", "localhost:port"])
def test_an_address_has_a_host_and_a_port(reviews: Trained, tmp_path: Path, address: str) -> None:
    misused(at(address, reviews, tmp_path), f"--address {address} is not HOST:PORT", "for example")


def test_an_address_without_a_cluster_is_told_at_once(reviews: Trained, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    said = at(f"127.0.0.1:{port}", reviews, tmp_path)
    misused(said, f"--address 127.0.0.1:{port}: nothing answers there (Connection refused)")


def at(address: str, model: Trained, folder: Path) -> Outcome:
    shards = write_shards(folder / "shards", 1, 1)
    arguments = ("--file", shards, "--out", folder / "a", "--engine", "ray", "--address", address)
    return glassformer("predict", model.folder, *arguments)
