import pytest

from glassformer.cli.steering import SteeringView

ROW = {"update": 1.0, "reward": 0.25, "kl": 1.5, "entropy": 2.0, "length": 3.0, "distinct_2": 0.5, "beta": 0.1}


def test_a_sample_keeps_to_its_line_and_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with SteeringView(3) as view:
        view.on_update(ROW, ("how\nis\x9b it?", " a\tb\r\x1b[2J\x1b]0;owned\a[bold]"))
        view.on_message("round 1: on held-out prompts reward 0.2500, KL 1.50 nats")
    assert capsys.readouterr().err == (
        "round 1: on held-out prompts reward 0.2500, KL 1.50 nats\n"
        "  reward 0.250  kl 1.50  entropy 2.00  length 3.0  distinct 2 0.50  beta 0.1\n"
        "  it writes: how\\nis\ufffd it?| a\\tb\\r\ufffd[2J\ufffd]0;owned\ufffd[bold]\n"
    )
