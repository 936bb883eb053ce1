import io
import sys
import time
from contextlib import redirect_stderr

import pytest

from glassformer.cli import activity
from glassformer.cli.activity import ACTIVITY
from glassformer.cli.output import doing, say

REDRAWN_AFTER, SAID_AFTER = activity._REDRAWN_AFTER, activity._SAID_AFTER


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "_REDRAWN_AFTER", 0.01)
    monkeypatch.setattr(activity, "_SAID_AFTER", 0.05)
    monkeypatch.setenv("TERM", "xterm")


def wait_for(text: str, shown: io.StringIO) -> None:
    deadline = time.monotonic() + 20
    while text not in shown.getvalue():
        assert time.monotonic() < deadline, shown.getvalue()
        time.sleep(0.01)


def test_a_terminal_shows_what_is_being_done_until_something_is_said() -> None:
    with redirect_stderr(Terminal()) as shown, ACTIVITY.running("loading"):
        wait_for("loading (0 s since the start)", shown)
        doing("reading \x1b[2Ja.csv")
        wait_for("reading \ufffd[2Ja.csv (0 s since the start)", shown)
        say("done")
        doing("the end")
        wait_for("the end", shown)
    written = shown.getvalue()
    assert "\r\x1b[Kdone\n" in written  # the line was taken away first
    assert written.endswith("\r\x1b[K")
    assert written.count("\n") == 1


def test_elsewhere_there_is_a_line_after_a_silence_and_no_carriage_return() -> None:
    with redirect_stderr(io.StringIO()) as shown, ACTIVITY.running("loading"):
        wait_for("loading (0 s since the start)\n", shown)
        time.sleep(0.3)
        lines = shown.getvalue().splitlines()
    assert 2 <= len(lines) <= 7  # again after each silence, not every time that it looks
    assert "\r" not in shown.getvalue()
    assert "\x1b" not in shown.getvalue()


def test_a_line_of_new_figures_is_rarer_than_one_of_the_next_epoch() -> None:
    with redirect_stderr(io.StringIO()) as shown, ACTIVITY.running("epoch 1/2, 10%: loss 0.9"):
        wait_for("epoch 1/2, 10%: loss 0.9 (", shown)
        ACTIVITY._since -= 20
        doing("epoch 1/2, 90%: loss 0.4")
        time.sleep(0.3)
        assert "90%" not in shown.getvalue()
        doing("epoch 2/2, 10%: loss 0.3")
        wait_for("epoch 2/2, 10%: loss 0.3 (", shown)
        ACTIVITY._silent_since -= 11  # half of the time
        doing("epoch 2/2, 30%: loss 0.2")
        wait_for("epoch 2/2, 30%: loss 0.2 (", shown)
        doing("50% of the recipe")
        wait_for("50% of the recipe", shown)
        doing("60% of the recipe")
        time.sleep(0.3)
        assert "60%" not in shown.getvalue()
        ACTIVITY._since -= 10_000
        ACTIVITY._silent_since -= 30
        wait_for("60% of the recipe", shown)
        for table in (r"C:\a.csv", r"C:\b.csv"):
            doing(f"reading {table}")
            wait_for(table, shown)


def test_the_desk_shows_new_figures_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "stops_with_parent", lambda: True)
    with redirect_stderr(io.StringIO()) as shown, ACTIVITY.running("epoch 1/2, 10%: loss 0.9"):
        ACTIVITY._since -= 10_000
        wait_for("10%", shown)
        doing("epoch 1/2, 20%: loss 0.8")
        wait_for("20%", shown)


def test_one_clock_counts_all_that_a_command_does() -> None:
    with redirect_stderr(io.StringIO()) as shown, ACTIVITY.running("loading"):
        ACTIVITY._since -= 100
        doing("the next epoch")
        wait_for("the next epoch (1 min 40 s since the start)\n", shown)


def test_while_a_bar_is_there_nothing_is_drawn() -> None:
    with redirect_stderr(Terminal()) as shown, ACTIVITY.running("loading"):
        wait_for("loading", shown)
        ACTIVITY.pause()
        before = shown.getvalue()
        time.sleep(0.1)
        assert shown.getvalue() == before
        ACTIVITY.resume()
        doing("saving")
        wait_for("saving", shown)


def test_a_narrow_terminal_keeps_it_on_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    with redirect_stderr(Terminal()) as shown, ACTIVITY.running("x" * 100):
        wait_for("xxx", shown)
    assert max(map(len, shown.getvalue().replace("\x1b[K", "").split("\r"))) == 19


def test_it_outlives_a_terminal_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Terminal()
    monkeypatch.setattr(sys, "stderr", gone)
    with ACTIVITY.running("loading"):
        wait_for("loading", gone)
        gone.close()
        time.sleep(0.05)


def test_no_silence_before_news_is_longer_than_five_seconds() -> None:
    """The thread looks every second, so a line comes one second late at most."""
    assert SAID_AFTER + REDRAWN_AFTER <= 5
