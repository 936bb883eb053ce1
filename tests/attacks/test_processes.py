"""A run is stopped, killed or started twice, or its folder is full or missing."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import save_file

from glassformer.data.locks import LOCK_FILE
from glassformer.prediction import weights_file
from glassformer.prediction.model_folder import save_model
from glassformer.training import loop, run
from glassformer.training.checkpoint import save_checkpoint
from glassformer.training.loop import Trainer
from glassformer.training.task import Examples
from tests.attacks.answer import answered, nothing_lost
from tests.bodies import SMALL
from tests.cli.terminal import Outcome, glassformer
from tests.running import Running
from tests.trained import review_rows, write_csv

SHORT = ("--device", "cpu", "--preset", "tiny", "--set", "training.min_steps_per_epoch=5", "--set", "training.epochs=4",
         "--set", "training.patience=90", "--set", "training.precision=float32",
         "--set", "validation.min_rows=100", "--set", f"model.body={SMALL}")  # fmt: skip
MODEL = {
    "README.md", "SHA256SUMS", "config.json", "counting.json", "counting.safetensors", "metrics.json",
    "model.safetensors", "readers", "report.html", "seen.safetensors", "tokenizer.json",
}  # fmt: skip
SLOW = """
import time
from glassformer.training.loop import Trainer
from glassformer.training.task import Examples
step, done = Trainer._step, []
Trainer._step = lambda self, batches: (time.sleep(0.1 if len(done) > 6 else 0), done.append(step(self, batches)))[1]
"""
"""After the first epoch of six steps."""
STUCK = """
import time
from glassformer.training.loop import Trainer
from glassformer.training.task import Examples
def stuck(self, batches):
    print("stuck", file=sys.stderr, flush=True)
    for _ in range(600):
        time.sleep(0.1)
Trainer._step = stuck
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("table") / "reviews.csv", review_rows(120))


@pytest.fixture(scope="module")
def whole(table: Path) -> Path:
    """A run that nothing happened to."""
    outcome = train(table, table.parent / "whole")
    assert outcome.code == 0, outcome.err
    return table.parent / "whole"


def train(table: Path, out: Path, *more: str) -> Outcome:
    return glassformer("train", table, "--out", out, *SHORT, *more)


def training(table: Path, out: Path, first: str, *, hangup: signal.Handlers = signal.SIG_DFL) -> Running:
    """The same in a process of its own, after some lines of Python."""
    code = f"import sys\n{first}\nsys.argv[0] = 'glassformer'\nfrom glassformer.__main__ import main\nmain()"
    return Running("-c", code, "train", table, "--out", out, *SHORT, log=out.parent / "log", hangup=hangup)


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def same_model(folder: Path, other: Path) -> bool:
    names = ("model.safetensors", "tokenizer.json")
    return all((folder / name).read_bytes() == (other / name).read_bytes() for name in names)


# Stopped, killed, doubled


def test_the_second_of_two_runs_is_refused_and_what_a_killed_one_leaves_is_no_lock(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with training(table, out, SLOW) as running:
        running.wait_until_it_says("epoch 1:")
        for flags in ((), ("--overwrite",), ("--resume",)):
            answered(train(table, out, *flags), f"in use by process {running.process.pid} on ", ", since 20")
    assert (out / LOCK_FILE).exists()
    answered(train(table, out), "holds an unfinished run", "--overwrite starts again")
    assert train(table, out, "--overwrite").code == 0
    assert names_in(out) == MODEL


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_stopped_and_resumed_is_uninterrupted(number: signal.Signals, table: Path, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with training(table, out, SLOW) as running:
        running.wait_until_it_says("epoch 1:")
        running.process.send_signal(number)
        outcome = running.outcome()
    stopped_and_resumed(outcome, number, table, whole, out)


def stopped_and_resumed(outcome: Outcome, number: signal.Signals, table: Path, whole: Path, out: Path) -> None:
    """It said how to go on, and going on gives the model of a run that nothing happened to."""
    assert (outcome.code, outcome.out) == (128 + number, "")
    assert f"stopped; the run is saved in {out}. Continue it with" in outcome.err
    assert names_in(out) == {"checkpoint"}
    assert train(table, out, "--resume").code == 0
    assert names_in(out) == MODEL
    assert same_model(out, whole)


def test_the_second_signal_stops_at_once(table: Path, tmp_path: Path) -> None:
    with training(table, tmp_path / "out", STUCK) as running:
        running.wait_until_it_says("stuck")
        running.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert running.process.poll() is None, "the first one waits for the step"
        running.process.send_signal(signal.SIGTERM)
        assert running.outcome().code == 128 + signal.SIGTERM
    assert LOCK_FILE not in names_in(tmp_path / "out")


def test_a_hangup_that_is_ignored_stays_ignored_until_it_is_stopped(table: Path, whole: Path, tmp_path: Path) -> None:
    """As `nohup` has it."""
    out = tmp_path / "out"
    with training(table, out, SLOW, hangup=signal.SIG_IGN) as running:
        running.wait_until_it_says("epoch 1:")
        running.process.send_signal(signal.SIGHUP)
        running.wait_until_it_says("epoch 2:")
        running.process.send_signal(signal.SIGTERM)
        outcome = running.outcome()
    stopped_and_resumed(outcome, signal.SIGTERM, table, whole, out)


# Full, gone, no folder


@contextmanager
def files_of_at_most(n_bytes: int) -> Iterator[None]:
    """As under `ulimit -f`."""
    before, kept = resource.getrlimit(resource.RLIMIT_FSIZE), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # Python would leave the bytecode of a module cut short, for all later runs
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        sys.dont_write_bytecode = kept


def resumed_without_training(table: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(Trainer, "_step", lambda *_: pytest.fail("it trains again"))
        outcome = train(table, out, "--resume")
    assert outcome.code == 0, outcome.err
    assert names_in(out) == MODEL


def test_a_model_that_cannot_be_written_is_kept_and_written_later(
    table: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"

    def limited(*arguments: Any) -> None:
        with files_of_at_most(10_000):
            save_file(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(weights_file, "save_file", limited)
        outcome = train(table, out)
    answered(outcome, "training is over, but the model could not be written", "File too large; it takes 0.2 MB",
             "ulimit -f", "continue with --resume: the run is saved up to step 24", code=1)  # fmt: skip
    assert names_in(out) == {"checkpoint"}
    resumed_without_training(table, out, monkeypatch)
    assert same_model(out, whole)


def test_a_model_that_cannot_be_written_leaves_the_one_before(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    assert train(table, out).code == 0
    with nothing_lost(*(out / name for name in MODEL)):
        with monkeypatch.context() as patched, files_of_at_most(60_000):
            patched.setattr(loop, "_CHECKPOINT_SECONDS", 0.0)
            outcome = train(table, out, "--overwrite")
        answered(outcome, "the model could not be written", "File too large", "Then start again", code=1)
    assert names_in(out) == MODEL


def test_a_checkpoint_that_cannot_be_written_is_said_once_and_training_goes_on(
    table: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, steps = tmp_path / "out", []

    def full_from_the_tenth_step(*arguments: Any) -> None:
        steps.append(arguments)
        with files_of_at_most(10_000 if len(steps) > 9 else resource.RLIM_INFINITY):
            save_checkpoint(*arguments)

    monkeypatch.setattr(loop, "_CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(loop, "save_checkpoint", full_from_the_tenth_step)
    outcome = train(table, out)
    assert outcome.code == 0, outcome.err
    warnings = [line for line in outcome.err.splitlines() if line.startswith("warning: the run could not be saved: ")]
    assert len(warnings) == 1, outcome.err
    assert "Training continues; the run up to step 9 is saved" in warnings[0]
    assert same_model(out, whole)


def test_without_room_for_the_vocabulary_nothing_is_left(table: Path, tmp_path: Path) -> None:
    with files_of_at_most(1_000):
        outcome = train(table, tmp_path / "out")
    answered(outcome, "nothing more can be written in", "File too large", code=1)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    if shutil.which("mount") is None or os.geteuid() != 0:
        pytest.skip("nothing can be mounted here")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def test_a_full_disk_and_then_room(small_disk: Path, table: Path, whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, film = small_disk / "out", small_disk / "film.mkv"

    def full(*arguments: Any, **more: Any) -> None:
        with pytest.raises(OSError, match="No space left"):
            film.write_bytes(b"x" * 2_000_000)
        save_model(*arguments, **more)

    with monkeypatch.context() as patched:
        patched.setattr(run, "save_model", full)
        outcome = train(table, out)
    answered(
        outcome, "could not be written", "No space left on device; it takes 0.2 MB, and 0.0 MB are free there", code=1
    )
    assert names_in(out) == {"checkpoint"}
    film.unlink()
    resumed_without_training(table, out, monkeypatch)
    assert same_model(out, whole)


def test_a_folder_that_is_deleted_meanwhile_is_made_again(
    table: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, step = tmp_path / "out", Trainer._step

    def deleted(self: Trainer[Any], batches: list[Examples]) -> None:
        shutil.rmtree(out, ignore_errors=True)
        step(self, batches)

    monkeypatch.setattr(Trainer, "_step", deleted)
    monkeypatch.setattr(loop, "_CHECKPOINT_SECONDS", 0.0)
    outcome = train(table, out)
    assert outcome.code == 0, outcome.err
    assert outcome.err.count("warning: the run could not be saved: ") == 1
    assert same_model(out, whole)


@pytest.mark.parametrize("name", ["file", "file/below", "loop", "loop/below"])
def test_where_no_folder_can_be(name: str, table: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "loop").symlink_to("loop")
    why = {"file": "is a file", "loop": "is a link that leads nowhere"}.get(name, "nothing can be written there")
    with nothing_lost(tmp_path / "file"):
        answered(train(table, tmp_path / name), why)
    assert names_in(tmp_path) == {"file", "loop"}
