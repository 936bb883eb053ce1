"""The rules of a project: lines that people write at the desk, and that each next round reads beside the labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from glassformer.desk.labelling import Labelling
from glassformer.errors import UsageError
from glassformer.readers.rules.parsing import lines_of, parse_rules
from glassformer.readers.rules.saying import Saying

_WHERE = "Rules"  # what the page calls them


def checked(given: str, labelling: Labelling, classes: Sequence[str]) -> str:
    """Return rules as they are kept: empty, or a file of rules about classes of the project.

    Raises:
        UsageError: a line is no rule, or names another class (see `parse_rules`).
    """
    content = given.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if not content.strip():
        return ""
    parse_rules(content, labelling.saying(classes), _WHERE)
    return content


def usable(kept: str, labelling: Labelling, classes: Sequence[str]) -> tuple[str, list[str]]:
    """Return the rules that a model of some classes can learn, and why it cannot learn the others.

    A class may have got another name since, or have too few texts yet. Such a line is a remark in the file, so that the
    others keep their numbers.

    Returns:
        The contents of the file, empty if no rule is left; and sentences.
    """
    if not kept.strip() or not (classes or labelling.task == "number"):
        return "", []
    read, waiting = _usable(kept, labelling.saying(classes))
    return read, list(waiting)


@lru_cache(maxsize=4)  # the page asks every second, and patterns take long to compile
def _usable(kept: str, saying: Saying) -> tuple[str, tuple[str, ...]]:
    lines, waiting = kept.split("\n"), list[str]()
    rules = list(lines_of(kept, _WHERE, saying.example))
    for at, answer, rest in rules:
        try:
            saying.read(answer, at)
        except UsageError as error:
            waiting.append(error.message)
            lines[rest["line"] - 1] = f"# {lines[rest['line'] - 1]}"
    return ("\n".join(lines) if len(waiting) < len(rules) else ""), tuple(waiting)
