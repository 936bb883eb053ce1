"""What a person decided about some texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["label", "skip", "unsure", "drop"]
"""What a person decided: a label, not now, a doubt that the model does not learn from, or to leave the text out."""


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What a person decided about some texts at once.

    Attributes:
        label: as it is kept (see `Labelling`). None unless the kind is `label`.
        way: why the texts were shown: "random" (they measure the model), "any" (drawn from the others), "unsure",
            "second" (another person has labelled them), "search", "alike", "table", "repeat" (the same as another text
            that was shown), "renamed" (its class was); or one person decides for all: "settle" (different labels),
            "doubt", "class".
        shown: whether the suggestion of the model was shown before the decision.
        giver: who gave it in the name of `who`, and can undo it. None: `who` did.
        stands: the number of the decision in whose place it comes, with another name of a class. None: it comes last.
    """

    texts: Sequence[int]
    kind: Kind
    label: str | None = None
    note: str = ""
    who: str
    way: str
    shown: bool = False
    giver: str | None = None
    stands: int | None = None
