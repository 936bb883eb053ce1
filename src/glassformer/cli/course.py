"""`glassformer course`: the ten lessons."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from glassformer.cli.options import Json
from glassformer.cli.output import doing, print_json, say, show
from glassformer.errors import UsageError

_READERS = ("jupyterlab", "notebook")


def course(
    lesson: Annotated[str | None, typer.Argument(help="The number of a lesson, from 1 to 10.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file to write: .ipynb for a notebook, .py for a script. Default: a notebook in this folder."
        ),
    ] = None,
    open_it: Annotated[bool, typer.Option("--open", help="Open the notebook in Jupyter.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file, and the answers in it.")] = False,
    json: Json = False,
) -> None:
    """List the ten lessons of the course, or write a lesson as a notebook or a script."""
    from glassformer.course.lessons import lesson as find
    from glassformer.course.writing import write_lesson

    if lesson is None:
        if out is not None or open_it or overwrite:
            raise UsageError("name a lesson too, for example: glassformer course 1")
        _list(json=json)
        return
    found = find(lesson)
    path = out or Path(f"{found.name}.ipynb")
    reader = _reader(path) if open_it else None
    if overwrite or reader is None or not path.exists():  # a notebook that is there goes on where it was
        write_lesson(found, path, overwrite=overwrite)
    if json:
        print_json({"lesson": found.number, "title": found.title, "file": str(path)})
    else:
        show(f"{path}: lesson {found.number}, {found.title}")
        if reader is None:
            say(f"next: {_how_to_open(path, found.number)}")
    if reader is not None:
        _open(reader, path)


def _list(*, json: bool) -> None:
    from glassformer.course.lessons import lessons

    if json:
        print_json(
            {"lessons": [{"lesson": each.number, "title": each.title, "summary": each.summary} for each in lessons()]}
        )
        return
    width = max(len(each.title) for each in lessons())
    for each in lessons():
        show(f"{each.number:>2}  {each.title:<{width}}  {each.summary}")
    say("\nstart: glassformer course 1")


def _how_to_open(path: Path, number: int) -> str:
    quoted = shlex.quote(str(path))
    if path.suffix == ".py":
        return f"open it in an editor, fill in the exercises, and run it: python {quoted}"
    return (
        f"open it in Jupyter or VS Code, or with: glassformer course {number} --open. "
        f"Without a notebook: glassformer course {number} --out {shlex.quote(str(path.with_suffix('.py')))}"
    )


def _reader(path: Path) -> str:
    """Return the module of an installed program that opens notebooks."""
    from glassformer.data.installed import is_installed, pip_install

    if path.suffix != ".ipynb":
        raise UsageError(f"--open needs a notebook, and {path} is not one; give it a name that ends in .ipynb")
    found = next((name for name in _READERS if is_installed(name)), None)
    if found is None:
        raise UsageError(f"--open needs Jupyter, which is not installed: {pip_install('course')}")
    return found


def _open(reader: str, path: Path) -> None:
    """Become Jupyter, so that Ctrl-C and the exit code are its own. What lies where it starts is not imported."""
    import os
    import sys

    doing("")  # Jupyter speaks for itself
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-P", "-m", reader, str(path)])
