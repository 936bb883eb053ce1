import pytest
from rich.console import Console

from glassformer.cli.live import SteeringView

ROW = {"update": 1.0, "reward": 0.25, "kl": 1.5, "entropy": 2.0, "length": 3.0, "distinct_2": 0.5, "beta": 0.1}


def test_all_figures_are_seen_in_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    view = SteeringView(100)
    view.on_update(ROW | {"update": 37.0, "clip_share": 0.04, "value_loss": 0.125}, ("how", "so"))
    screen = Console(width=80, color_system=None)
    with screen.capture() as captured:
        screen.print(view._progress.get_renderable())
    shown = " ".join(captured.get().split())
    for figure in (
        "37/100",
        "reward 0.250",
        "kl 1.50",
        "entropy 2.00",
        "clip share 4%",
        "length 3.0",
        "value loss 0.125",
    ):
        assert figure in shown
    assert shown.endswith("distinct 2 0.50 beta 0.1")


def test_a_sample_keeps_to_its_line_and_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with SteeringView(3) as view:
        view.on_update(ROW, ("how\nis\x9b it?", " a\tb\r\x1b[2J\x1b]0;owned\a[bold]"))
        view.on_message("round 1: on held-out prompts reward 0.2500, KL 1.50 nats")
    assert capsys.readouterr().err == (
        "round 1: on held-out prompts reward 0.2500, KL 1.50 nats\n"
        "  reward 0.250  kl 1.50  entropy 2.00  length 3.0  distinct 2 0.50  beta 0.1\n"
        "  it writes: how\\nis\ufffd it?| a\\tb\\r\ufffd[2J\ufffd]0;owned\ufffd[bold]\n"
    )
