"""Signs that a policy fools its reward: its answers become unlike those of the start model.

A reward model judges well only what it has learned from. A policy that finds a text which is rated too high writes it
again and again, and its reward rises. Length, variety, entropy and the start model's log-probability show it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

Row = dict[str, float]


class Sign(NamedTuple):
    """A sign of collapse.

    Attributes:
        figure: a figure of the evaluations on held-out prompts, without `held_out_`.
        unlike: whether a value is too far from the start's, which comes second.
    """

    figure: str
    what: str
    unlike: Callable[[float, float], bool]


SIGNS = (
    Sign("length", "answers are short, in tokens", lambda now, start: now < start / 2),
    Sign("length", "answers are long, in tokens", lambda now, start: now > 2 * start),
    Sign("distinct", "answers are the same: the share of different ones is", lambda now, start: now < start / 2),
    Sign("entropy", "the policy hardly chooses: a token's entropy in nats is", lambda now, start: now < start / 4),
    Sign(
        "start_logprob",
        "the start model would not write this: a token's log-probability under it is",
        lambda now, start: now < start - 1.5,
    ),
)


def signs_of_collapse(history: Sequence[Row]) -> dict[str, float]:
    """Return the signs that the last evaluation shows, each with the round since which all evaluations show it.

    Args:
        history: a row for each round. The evaluated ones have figures that begin with `held_out_`; the first of them is
            that of the start model.
    """
    evaluated = [row for row in history if "held_out_length" in row]
    found = {}
    for sign in SIGNS:
        name = f"held_out_{sign.figure}"
        since = None
        for row in evaluated[1:]:
            shown = sign.unlike(row[name], evaluated[0][name])
            since = (row["update"] if since is None else since) if shown else None
        if since is not None:
            found[f"{sign.what} {evaluated[-1][name]:.2f}, and {evaluated[0][name]:.2f} at the start"] = since
    return found


def told(signs: dict[str, float]) -> list[str]:
    """Write each sign as a sentence with what to do."""
    return [
        f"since round {since:.0f}, {what}. The policy may have learned to fool its reward: read some of its answers, "
        "and try a lower training.target_kl, or a higher training.beta without one"
        for what, since in signs.items()
    ]
