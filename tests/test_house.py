import ast
import os
import re
import subprocess
from collections.abc import Container, Iterator, Mapping, Sequence, Set
from functools import cache
from graphlib import CycleError, TopologicalSorter
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
    "errors", "layers", "models", "data", "pages", "readers", "targets", "prediction", "labels", "explanation",
    "tracing", "evaluation", "training", "doctor", "experiments", "words", "alignment", "exporting", "audit",
    "estimators", "course", "serving", "desk", "cli",
)  # fmt: skip
GUIDES = [
    f"docs/how-to/{page}.md" for page in ("train", "evaluate", "predict", "recipes-and-data", "start-from-weights")
]
# Of typer, pip and torchrun.
OF_OTHER_PROGRAMS = {"--help", "--install-completion", "--no-build-isolation", "--nproc-per-node"}
LONGEST_FILE, LONGEST_FUNCTION = 400, 60
SPEAK_OF_FLAGS = ("cli",)
BUILTINS_THAT_RUN_TEXT = {"eval", "exec", "compile", "__import__"}
MODULES_THAT_RUN_FILES = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}


def room(path: Path) -> str:
    return room_of(path.relative_to(SOURCE).with_suffix("").parts)


def room_of(parts: Sequence[str]) -> str:
    """A kind of answer or a way of reading adds a file to a room: `targets/number/training.py` stands in `training`."""
    added_to = parts[2].partition("_")[0] if parts[0] in ("targets", "readers") and len(parts) > 2 else ""
    return added_to if added_to in ROOMS else parts[0]


@cache
def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported(path: Path) -> set[str]:
    """Every module that a file imports anywhere, absolutely; `from glassformer.x import y` counts as glassformer.x."""
    modules = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            modules.add(node.module or "")
    return modules


def calls(path: Path) -> Iterator[tuple[str, str]]:
    """Each call of a file: its place, and what is called."""
    for node in nodes(path):
        if isinstance(node, ast.Call):
            yield f"{name(path)}:{node.lineno}", ast.unparse(node.func)


def name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def test_a_room_imports_from_rooms_before_it_alone() -> None:
    for path in FILES:
        if room(path) in ("__init__", "__main__"):
            continue
        mine = ROOMS.index(room(path))
        for module in imported(path):
            top, *below = module.split(".")
            if top == "glassformer" and below:
                other = room_of(below)
                assert ROOMS.index(other) <= mine, f"{name(path)} imports {module}"
                assert room(path) != "layers" or other == "layers", f"{name(path)} imports {module}"


def test_no_file_imports_itself_by_way_of_others() -> None:
    """Imports in functions and for types count too. `glassformer` alone may: it imports its classes when asked for."""
    modules = {".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path for path in FILES}
    modules = {module.removesuffix(".__init__"): path for module, path in modules.items()}
    imports = {module: set(files_imported(path, modules)) - {"glassformer"} for module, path in modules.items()}
    assert circle_in(imports) == []
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) != [], "a circle would be found"


def circle_in(imports: Mapping[str, Set[str]]) -> list[str]:
    """The files of a circle of imports, or nothing."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


def files_imported(path: Path, modules: Container[str]) -> Iterator[str]:
    """Each import of a file of ours. In `from glassformer.x import y`, y may be a file, or stand in one."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module in modules:
            for below in (f"{node.module}.{alias.name}" for alias in node.names):
                yield below if below in modules else node.module


def function_lengths(path: Path) -> dict[str, int]:
    """Lines of each function's body, the docstring left out."""
    lengths = {}
    for node in nodes(path):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) and node.body[1:] else node.body
            lengths[f"{name(path)}:{node.name}"] = (body[-1].end_lineno or 0) - body[0].lineno + 1
    return lengths


def test_files_and_functions_are_short() -> None:
    for path in FILES:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_FILE, name(path)
        for where, lines in function_lengths(path).items():
            assert lines <= LONGEST_FUNCTION, f"{where} has {lines} lines"


def test_nothing_read_from_outside_is_ever_run() -> None:
    for path in FILES:
        assert not MODULES_THAT_RUN_FILES & {module.partition(".")[0] for module in imported(path)}, name(path)
        for where, called in calls(path):
            assert called not in {*BUILTINS_THAT_RUN_TEXT, "torch.load", "torch.save"}, f"{where}: {called}"


def test_signals_are_handled_in_one_place() -> None:
    for path in FILES:
        for where, called in calls(path):
            assert called != "signal.signal" or name(path) == "data/stopping.py", f"{where}: {called}"


def test_the_command_line_writes_in_one_place() -> None:
    """Which keeps control characters from the terminal; the live view and the line of what is being done go with it."""
    writers = ("print", "typer.echo", "Console", "TextColumn", "sys.stdout.write", "sys.stderr.write")
    for path in FILES:
        if room(path) != "cli" or path.name in ("output.py", "live.py", "activity.py"):
            continue
        for where, called in calls(path):
            elsewhere = called in writers or called.endswith(("buffer.write", "console.print"))
            assert not elsewhere, f"{where}: {called}; use show or say"


def test_the_library_speaks_of_settings_and_not_of_flags() -> None:
    for path in FILES:
        if room(path) in SPEAK_OF_FLAGS:
            continue
        for node in nodes(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = re.search(r"(?<![\w\"-])(?<!var\()--[a-z][a-z-]*", node.value)
                where = f"{name(path)}:{node.lineno}"
                assert not found, f"{where}: write {found[0]} as a setting (see cli/flags.py)"


def test_a_page_speaks_of_settings_and_not_of_flags() -> None:
    for path in SOURCE.rglob("*.jinja"):
        assert not re.search(r"(?<![\w\"-])(?<!var\()--[a-z][a-z-]*", path.read_text(encoding="utf-8")), name(path)


def test_a_message_writes_thousands_with_commas() -> None:
    """But not the value of a setting: the user types it without."""
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        bare = re.findall(r"(?<!=)\{(?!split\})[^{}:\"]*\} (?:rows|texts|tokens|bytes|records)\b", text)
        assert not bare, f"{name(path)}: write {{number:,}}"


def test_every_file_has_a_plain_name_and_lies_in_a_known_place() -> None:
    found = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if found.returncode:
        pytest.skip("not a checkout of git")
    names = [os.fsdecode(name) for name in found.stdout.split(b"\0") if name]
    assert [name for name in names if not re.fullmatch(r"[\w./-]+", name, re.ASCII)] == []
    weights = [Path(name).parts[:2] for name in names if name.endswith(".safetensors")]
    assert set(weights) <= {("src", "glassformer"), ("tests", "frozen")}, "a model that a trial left behind"


def test_every_file_says_what_it_is() -> None:
    for path in FILES:
        assert path.name == "__main__.py" or ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), name(path)


@pytest.mark.parametrize("recipe", sorted((ROOT / "recipes").rglob("*.toml")), ids=lambda path: path.stem)
def test_every_recipe_loads_says_what_it_is_for_and_is_shipped(recipe: Path) -> None:
    of_language_models = recipe.parent.name == "language-models"
    load = load_pretraining_recipe if of_language_models else load_recipe
    assert load(str(recipe)).description
    shipped = shipped_recipes(PretrainingRecipe if of_language_models else Recipe)
    assert shipped[recipe.stem].read_bytes() == recipe.read_bytes()


def test_the_docs_show_every_command() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *(ROOT / "docs").glob("*/*.md")))
    shown = [name for name, _ in commands()]
    assert len(shown) > 15
    for command in shown:
        assert f"glassformer {command}" in pages, command


def test_readme_and_guides_show_only_flags_that_exist() -> None:
    readme = "".join((ROOT / page).read_text(encoding="utf-8") for page in ("README.md", *GUIDES))
    scripts = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py"))
    known = set(re.findall(r'"(--[a-z][a-z-]*)"', scripts))
    known |= {
        flag
        for _, command in commands()
        for option in command.params
        for flag in (*option.opts, *option.secondary_opts)
    }
    for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]+", readme):
        assert flag in known | OF_OTHER_PROGRAMS, f"the README shows {flag}, which no command has"


def test_a_type_of_arrays_is_defined_once() -> None:
    defined = [
        found
        for path in FILES
        for found in re.findall(r"^(\w*Array) = ", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert sorted(set(defined)) == sorted(defined)
