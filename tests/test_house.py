import ast
import re
from pathlib import Path

import pytest

from glassformer.training.recipe import (
    PretrainingRecipe,
    Recipe,
    load_pretraining_recipe,
    load_recipe,
    shipped_recipes,
)
from tests.cli.terminal import commands

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "glassformer"
FILES = sorted(SOURCE.rglob("*.py"))
ROOMS = (
    "errors", "pages", "layers", "models", "data", "counting", "prediction", "labels", "explanation", "tracing",
    "evaluation", "training", "doctor", "experiments", "words", "alignment", "exporting", "text_classifier", "serving",
    "cli",
)  # fmt: skip
OF_OTHER_PROGRAMS = {"--help", "--install-completion", "--nproc-per-node"}  # typer's and torchrun's
LONGEST_FILE, LONGEST_FUNCTION = 400, 60
SPEAK_OF_FLAGS = ("cli",)
BUILTINS_THAT_RUN_TEXT = {"eval", "exec", "compile", "__import__"}
MODULES_THAT_RUN_FILES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Every module that a file imports anywhere, absolutely; `from glassformer.x import y` counts as glassformer.x."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            modules.add(node.module or "")
    return modules


def name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_room_imports_from_rooms_before_it_alone(path: Path) -> None:
    if room(path) in ("__init__", "__main__"):
        return
    mine = ROOMS.index(room(path))
    for module in imported(path):
        top, _, below = module.partition(".")
        if top == "glassformer" and below:
            other = below.partition(".")[0]
            assert ROOMS.index(other) <= mine, f"{room(path)} imports {module}"
            assert room(path) != "layers" or other == "layers", f"layers import {module}"


def function_lengths(path: Path) -> dict[str, int]:
    """Lines of each function's body, the docstring left out."""
    lengths = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) and node.body[1:] else node.body
            lengths[f"{name(path)}:{node.name}"] = (body[-1].end_lineno or 0) - body[0].lineno + 1
    return lengths


@pytest.mark.parametrize("path", FILES, ids=name)
def test_files_and_functions_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE
    for where, lines in function_lengths(path).items():
        assert lines <= LONGEST_FUNCTION, f"{where} has {lines} lines"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_nothing_read_from_outside_is_ever_run(path: Path) -> None:
    assert not MODULES_THAT_RUN_FILES & {module.partition(".")[0] for module in imported(path)}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in BUILTINS_THAT_RUN_TEXT, f"line {node.lineno}: {called}"
            assert called not in ("torch.load", "torch.save"), f"line {node.lineno}: {called}"


@pytest.mark.parametrize("path", [path for path in FILES if room(path) == "cli"], ids=name)
def test_the_command_line_writes_in_one_place(path: Path) -> None:
    """Which keeps control characters from the terminal; the live view and the line of what is being done go with it."""
    writers = ("print", "typer.echo", "Console", "TextColumn", "sys.stdout.write", "sys.stderr.write")
    if path.name in ("output.py", "live.py", "activity.py"):
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            elsewhere = called in writers or called.endswith(("buffer.write", "console.print"))
            assert not elsewhere, f"line {node.lineno}: {called}; use show or say"


@pytest.mark.parametrize("path", [path for path in FILES if room(path) not in SPEAK_OF_FLAGS], ids=name)
def test_the_library_speaks_of_settings_and_not_of_flags(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = re.search(r"(?<![\w\"-])(?<!var\()--[a-z][a-z-]*", node.value)
            assert not found, f"line {node.lineno}: write {found[0]} as a setting (see cli/flags.py)"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_message_writes_thousands_with_commas(path: Path) -> None:
    """But not the value of a setting: the user types it without."""
    text = path.read_text(encoding="utf-8")
    bare = re.findall(r"(?<!=)\{(?!human_count|split\})[^{}:\"]*\} (?:rows|texts|tokens|bytes|records)\b", text)
    assert not bare, f"{path}: write {{number:,}}"


@pytest.mark.parametrize("path", [path for path in FILES if path.name != "__main__.py"], ids=name)
def test_every_file_says_what_it_is(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("recipe", sorted((ROOT / "recipes").rglob("*.toml")), ids=lambda path: path.stem)
def test_every_recipe_loads_says_what_it_is_for_and_is_shipped(recipe: Path) -> None:
    of_language_models = recipe.parent.name == "language-models"
    load = load_pretraining_recipe if of_language_models else load_recipe
    assert load(str(recipe)).description
    shipped = shipped_recipes(PretrainingRecipe if of_language_models else Recipe)
    assert shipped[recipe.stem].read_bytes() == recipe.read_bytes()


def test_readme_shows_every_command_and_only_flags_that_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = [name for name, _ in commands()]
    assert len(shown) > 15
    for command in shown:
        assert f"glassformer {command}" in readme, command
    scripts = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py"))
    known = set(re.findall(r'"(--[a-z][a-z-]*)"', scripts))
    known |= {flag for _, command in commands() for option in command.params for flag in option.opts}
    for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]+", readme):
        assert flag in known | OF_OTHER_PROGRAMS, f"the README shows {flag}, which no command has"
