"""The parts of the reference that are written from the code: commands, recipes, and the Python API.

A page names such a part in a comment, `<!-- generated: commands -->`. `make docs` and the tests put it there.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import typer.main
from typer.core import TyperGroup

import glassformer
from glassformer.cli.main import app
from glassformer.explanation.counterfactual import Counterfactual
from glassformer.explanation.explain import Explanation, explain
from glassformer.explanation.explanation import Passage
from glassformer.explanation.faithfulness import Faithfulness
from glassformer.explanation.heads import Head
from glassformer.explanation.neighbours import Neighbour
from glassformer.explanation.shares import NgramInMargin, WordShare
from glassformer.training.recipe import PretrainingRecipe, Recipe, shipped_recipes

DOCS, RECIPES = Path(__file__).parents[1], Path(__file__).parents[2] / "recipes"
EXPLAINING = (explain, Explanation, WordShare, NgramInMargin, Faithfulness, Passage, Counterfactual, Head, Neighbour)
_OF_DOCS = re.compile(r"\bdocs/([\w/-]+\.md)")
_PART = re.compile(r"<!-- generated: (\S+) -->")
_EXAMPLE = re.compile(r"^( {4}\S.*\n?)+", re.MULTILINE)
_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Yields):$", re.MULTILINE)


def expand(text: str) -> str:
    """Put the generated parts of a page in the places of their comments.

    Raises:
        KeyError: there is no part of this name.
    """
    return _PART.sub(lambda part: PARTS[part[1]](), text)


def all_commands() -> Iterator[tuple[str, Any]]:
    """Every command by name, `data get` and the like included."""
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    for name, command in root.commands.items():
        if isinstance(command, TyperGroup):
            yield from ((f"{name} {below}", inner) for below, inner in command.commands.items())
        else:
            yield name, command


def commands() -> str:
    """A section for each command: usage, help, arguments and flags."""
    return "\n\n".join(_command(name, command) for name, command in all_commands())


def recipes() -> str:
    """A section for the recipes of each kind, and the default recipe in full."""
    parts = []
    for title, kind in (("Classifiers", Recipe), ("Language models", PretrainingRecipe)):
        described = {
            name: tomllib.loads(path.read_text(encoding="utf-8")).get("description", "")
            for name, path in shipped_recipes(kind).items()
        }
        parts += [f"## {title}", "\n".join(_defined(f"`{name}`", text) for name, text in described.items())]
    default = (RECIPES / "default.toml").read_text(encoding="utf-8")
    return "\n\n".join([*parts, "## Every setting that matters", f"```toml\n{default}```"])


def python() -> str:
    """A section for each name that `glassformer` exports, and for what an explanation holds, from its docstring."""
    exported = {name: getattr(glassformer, name) for name in glassformer.__all__ if not name.startswith("_")}
    explaining = {thing.__name__: thing for thing in EXPLAINING}
    return "\n\n".join(_documented(name, thing) for name, thing in (exported | explaining).items())


PARTS: Mapping[str, Callable[[], str]] = {"commands": commands, "recipes": recipes, "python": python}


def _command(name: str, command: Any) -> str:
    context = command.make_context(name, [], resilient_parsing=True)
    arguments = [parameter for parameter in command.params if parameter.param_type_name == "argument"]
    flags = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    usage = " ".join([f"glassformer {name}", *command.collect_usage_pieces(context)])
    parts = [f"## {name}", f"```text\n{usage}\n```", _prose(command.help or "")]
    for parameters in (arguments, flags):
        shown = [parameter.get_help_record(context) for parameter in parameters if not parameter.hidden]
        if shown:
            parts.append("\n".join(_defined(f"`{left.strip()}`", text) for left, text in filter(None, shown)))
    return "\n\n".join(filter(None, parts))


def _documented(name: str, thing: Any) -> str:
    if not inspect.isclass(thing):
        return f"## {name}\n\n{_signature(name, thing)}\n\n{_docstring(thing)}"
    parts = [f"## {name}", _signature(name, thing), _docstring(thing)]
    for member, value in inspect.getmembers(thing):
        found = value.fget if isinstance(value, property) else value
        ours = inspect.isroutine(found) and str(getattr(found, "__module__", "")).startswith("glassformer")
        if member.startswith("_") or not ours or not inspect.getdoc(found):
            continue
        shown = f"```python\n{member}\n```" if isinstance(value, property) else _signature(member, value)
        parts += [f"### {name}.{member}", shown, _docstring(found)]
    return "\n\n".join(parts)


def _signature(name: str, thing: Any) -> str:
    shown = inspect.signature(thing)
    parameters = [
        str(parameter.replace(annotation=inspect.Parameter.empty))
        for parameter in shown.parameters.values()
        if parameter.name != "self"
    ]
    kinds = [parameter.kind for parameter in shown.parameters.values() if parameter.name != "self"]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        parameters.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    return f"```python\n{name}({', '.join(parameters)})\n```"


def _docstring(thing: Any) -> str:
    """Return a docstring in Google's style as Markdown."""
    first, *sections = _SECTION.split(inspect.getdoc(thing) or "")
    as_code = _EXAMPLE.sub(lambda code: f"```python\n{inspect.cleandoc(code[0])}\n```\n", first)
    parts = [_linked(as_code)]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        text = inspect.cleandoc(body)
        entries = re.findall(r"^([\w, *]+): (.*(?:\n +.*)*)", text, re.MULTILINE)
        parts.append(f"**{title}**")
        parts.append("\n".join(_defined(f"`{name}`", found) for name, found in entries) if entries else text)
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _defined(term: str, text: str) -> str:
    return f"{term}\n: {_prose(' '.join(text.split())) or '–'}\n"


def _prose(text: str) -> str:
    """Escape what Markdown would read as its own, outside of code. A page of the docs becomes a link."""
    parts: Iterable[str] = re.split(r"(`[^`]*`)", text)
    escaped = (part if part.startswith("`") else re.sub(r"([\\*_<>\[\]|])", r"\\\1", part) for part in parts)
    return _linked("".join(escaped))


def _linked(text: str) -> str:
    """Make a link of each page of the docs that is named."""
    return _OF_DOCS.sub(lambda page: f"[{_title(page[1])}](../{page[1]})", text)


def _title(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
