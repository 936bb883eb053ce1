from typing import Any

import pytest

from glassformer.alignment.collapse import signs_of_collapse, told

START = {"length": 12.0, "distinct": 0.9, "entropy": 1.0, "start_logprob": -1.0}


def history(*rows: dict[str, float]) -> list[dict[str, float]]:
    """An evaluation after every tenth round, and rows without one between them."""
    found: list[dict[str, float]] = []
    for number, row in enumerate(({}, *rows)):
        found.append({"update": 10.0 * number} | {f"held_out_{name}": value for name, value in (START | row).items()})
        found.append({"update": 10.0 * number + 1, "reward": 1.0})
    return found


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"length": 5.0}, "answers are short, in tokens 5.00, and 12.00 at the start"),
        ({"length": 25.0}, "answers are long, in tokens 25.00, and 12.00 at the start"),
        ({"distinct": 0.1}, "the share of different ones is 0.10, and 0.90 at the start"),
        ({"entropy": 0.2}, "a token's entropy in nats is 0.20, and 1.00 at the start"),
        ({"start_logprob": -3.0}, "log-probability under it is -3.00, and -1.00 at the start"),
    ],
)
def test_each_sign_and_since_when(row: dict[str, Any], words: str) -> None:
    (found,) = told(signs_of_collapse(history({}, row, row)))
    assert found.startswith("since round 20, ")
    assert words in found
    assert "training.target_kl" in found


def test_what_passed_is_no_sign() -> None:
    assert signs_of_collapse(history({"length": 1.0}, {})) == {}
    assert signs_of_collapse(history()) == {}
    assert signs_of_collapse([]) == {}
