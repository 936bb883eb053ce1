"""What is refused, and why. A line that is not needed any more makes `tests/test_matrix.py` fail: delete it."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """Cells of the matrix that are refused.

    Attributes:
        things: by name, see `tests/matrix/things.py`.
        targets: the kinds of targets. Empty: all.
        inputs: the kinds of inputs. Empty: all.
        why: a sentence for the docs.
    """

    things: tuple[str, ...]
    why: str
    targets: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()

    def holds(self, thing: str, target: str, inputs: str) -> bool:
        return thing in self.things and all(
            not named or one in named for one, named in ((target, self.targets), (inputs, self.inputs))
        )


SEVERAL = ("several texts", "text with columns")
REFUSED: tuple[Refusal, ...] = (
    Refusal(
        things=("export transformers",),
        inputs=SEVERAL,
        why="a pipeline of transformers gives a model one string, and has no place for a row",
    ),
    Refusal(things=("costs",), targets=("number",), why="a number has no label that could be missed"),
)
NO_TABLE = {
    "pretrain": "learns from texts without labels",
    "verify": "compares files with their checksums",
    "embeddings": "learns from texts without labels",
    "generate": "a language model writes",
    "align evaluate": "the stages of an assistant",
    "align pairs": "the stages of an assistant",
    "align sft": "the stages of an assistant",
    "align reward": "the stages of an assistant",
    "align dpo": "the stages of an assistant",
    "align rl": "the stages of an assistant",
    "reproduce": "the published systems, which answer with classes",
    "course": "exercises",
    "desk": "people give labels: classes of one text",
    "recipes": "lists recipes",
    "version": "says which version it is",
    "data list": "known data sets",
    "data get": "known data sets",
}
"""Commands that need no labelled table and no model of one, and what they do."""


def reason(thing: str, target: str, inputs: str) -> str | None:
    """Return why a cell is refused; None if it must work."""
    return next((refused.why for refused in REFUSED if refused.holds(thing, target, inputs)), None)
