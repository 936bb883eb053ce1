from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

import pytest

from glassformer.cli.compare_variants import _LiveRuns
from glassformer.cli.live import Live, LiveView
from glassformer.cli.reproduce import LiveTable
from glassformer.training.loop import StepReport
from tests.cli.terminal import plain

BRACKETS = "runs/a[b]/[/]/[red]:smile:"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "130"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("view", [LiveView, LiveTable, lambda: _LiveRuns(BRACKETS)])
def test_a_message_is_said_once_and_as_it_is(view: Callable[[], Live], capsys: pytest.CaptureFixture[str]) -> None:
    with view() as shown:
        shown.on_message(f"weights: {BRACKETS}")
        shown.on_message(f"weights: {BRACKETS}")
        shown.on_message("something else")
    assert [line.strip() for line in capsys.readouterr().err.splitlines()] == [
        f"weights: {BRACKETS}",
        "something else",
    ]


def test_what_a_model_wrote_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveView() as shown:
        shown.on_message("it writes: \x1b[2J\x1b]0;owned\a")
    assert capsys.readouterr().err == "it writes: \ufffd[2J\ufffd]0;owned\ufffd\n"


@pytest.mark.usefixtures("terminal")
def test_a_design_is_named_as_it_is_beside_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with _LiveRuns(BRACKETS) as view:
        view.on_plan(3, 0, None)
        view.on_run(f"{BRACKETS}, seed 7")
    said = plain(capsys.readouterr().err)
    assert f"{BRACKETS}: 3 runs" in said
    assert f"{BRACKETS}, seed 7" in said


@pytest.mark.usefixtures("terminal")
def test_a_line_of_the_table_is_named_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveTable() as view:
        view.on_line(BRACKETS, 1)
        view.on_run("literal", 4)
        view._progress.refresh()
        view.on_done(cast(Any, SimpleNamespace(accuracy=SimpleNamespace(value=0.5), test_rows=6, training_seconds=2.0)))
        view.on_line("two", 2)
    said = plain(capsys.readouterr().err)
    assert f"{BRACKETS}: 1 run\n" in said
    assert f"{BRACKETS} ━" in said
    assert "literal, seed 4: preparing" in said
    assert "two: 2 runs\n" in said


def test_the_reader_that_is_fitted_is_named_while_it_takes_long() -> None:
    now: list[str] = []
    with patch("glassformer.cli.live.doing", now.append), LiveView() as view:
        view.on_message("fitting the character-lstm reader to all 240 rows")
        view.on_message("stage 2 of 2: training on 240 rows")
    assert now == ["fitting the character-lstm reader to all 240 rows"]


@pytest.mark.usefixtures("terminal")
def test_the_time_left_is_gone_once_the_steps_of_an_epoch_are_over(capsys: pytest.CaptureFixture[str]) -> None:
    report = StepReport(
        epoch=1, epochs=1, step_of_epoch=2, steps_per_epoch=2, loss=0.5, accuracy=None, speed=1.0, unit="texts",
        padding=0.0, done=1.0, seconds=3.0, seconds_left=75.0,
    )  # fmt: skip
    with LiveView() as view:
        view.on_step(report)
        view._progress.refresh()
        assert "1 min 15 s left" in plain(capsys.readouterr().err)
        view.on_epoch({"epoch": 1.0, "seconds": 3.0})
        view._progress.refresh()
        said = plain(capsys.readouterr().err).rpartition("epoch 1/1")[2]
    assert "finishing the epoch" in said
    assert "left" not in said


def test_the_training_of_several_is_counted_and_the_time_is_told_once_others_follow() -> None:
    view = LiveView()
    shown: list[str] = []
    report = StepReport(
        epoch=1, epochs=4, step_of_epoch=1, steps_per_epoch=2, loss=0.5, accuracy=None, speed=1.0, unit="texts",
        padding=0.0, done=0.1, seconds=3.0, seconds_left=75.0,
    )  # fmt: skip
    with patch("glassformer.cli.live.doing", shown.append):
        view.on_step(report)
        view.on_step(replace(report, training=1, trainings=5))
        view.on_step(replace(report, training=2, trainings=5))
    assert shown[0].startswith("epoch 1/4, 50%: loss 0.500  1 min 15 s left")
    assert shown[1].startswith("training 1/5 epoch 1/4, 50%: loss 0.500")
    assert "left" not in shown[1]  # it may be the last one, if the transformer does not help
    assert shown[2].startswith("training 2/5 epoch 1/4, 50%: loss 0.500  1 min 15 s left")
