"""`glassformer desk`: a page on this machine to label texts at, to train and to mend labels."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.options import Encoding, Json, Settings
from glassformer.cli.output import doing, print_json, say, show
from glassformer.cli.serve import check_can_serve, in_words, open_in_browser, say_finishing
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.desk.project import Project
    from glassformer.serving.listening import Address


def desk(
    table: Annotated[
        str | None,
        typer.Argument(
            help="A table of texts, with or without labels. You can also choose it on the page, unless it is a folder."
        ),
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(help="The folder that keeps labels and models. Default: TABLE-desk beside the table, or desk."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the labels and every decision into this folder, for version control, and end."),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the page in a browser.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="<int>", help="The port. 0: any free one.")] = 0,
    encoding: Encoding = None,  # noqa: ARG001 (its callback sees to it)
    settings: Settings = None,
    json: Json = False,
) -> None:
    """Open a page where you label texts, train, and correct labels. Ctrl-C closes it, and nothing is lost."""
    for flag, given in {"--port": port, "--set": settings, "--no-open": no_open}.items():
        if export is not None and given:
            raise UsageError(f"{flag} is for the page, and --export opens none; leave it out")
    check_can_serve("the desk")
    from glassformer.data.addresses import beside, local_path, without_password
    from glassformer.data.locks import only_writer
    from glassformer.data.rows import check_file
    from glassformer.desk.project import STORE_FILE, Project
    from glassformer.serving.listening import listen

    folder, path = project or Path("desk"), None
    if table is not None:
        folder = project or beside(table, "-desk")
        if not (folder / STORE_FILE).is_file():
            path = local_path(table)
            if not path.is_dir():
                check_file(path)
    with only_writer(folder, setting="project", first="close that desk"), Project.opened(folder, path) as opened:
        if table is not None and path is None:
            _check_same(opened, without_password(table))
            say(f"going on with the labels in {folder}; {_read_again(opened, table)}")
        if export is None:
            _answer(opened, listen("127.0.0.1", port), settings or (), open_it=not no_open, json=json)
        elif json:
            print_json({"files": [str(file) for file in opened.export(export)]})
        else:
            show("\n".join(map(str, opened.export(export))))


def _check_same(project: Project, table: str) -> None:
    """Refuse a table if the project is of one with another name, or of another part of the file."""
    from glassformer.data.addresses import is_elsewhere, name_in
    from glassformer.data.parts import split_part

    if (kept := project.table) is None:
        return
    file, part = split_part(kept)
    _, _, asked = table.partition(f"{file.name}#")
    if is_elsewhere(table):  # what was read of it has a name of its own
        is_same = name_in(table) == name_in(str(kept))
    else:  # it may be gone
        names = {Path(table).name, Path(os.path.realpath(table)).name}  # it may be a link
        is_same = not names.isdisjoint({kept.name, file.name})
        is_same = is_same or bool(asked)
    if (asked and part and asked != part) or not is_same:
        raise UsageError(
            f"{project.folder} holds the labels of {kept.name}, not of {table}; name another --project, or leave "
            f"out the table to go on with {kept.name}"
        )


def _read_again(project: Project, table: str) -> str:
    """Bring rows that came to the file of a table to its project, and say what has changed. It may be gone."""
    from glassformer.data.addresses import local_path, without_password
    from glassformer.data.parts import exists, file_of
    from glassformer.desk.reading_again import read_again

    named = without_password(table)
    if project.table is None or not exists(file_of(Path(table))):  # on a server, or gone
        return f"the rows are those of before: {named} is no file here"
    try:
        return read_again(project, local_path(table), named) or f"{named} has not changed"
    except UsageError as error:
        why = re.sub(r" \(`\w+=`\)", "", error.message).rstrip(".")  # these settings are none of the desk
        error.message = (
            f"{why}. {named} has changed since the desk read it; correct it, such as a column that has another name "
            f"now, or leave it out to go on with the rows of before: --project {project.folder}"
        )
        raise


def _answer(project: Project, address: Address, settings: Sequence[str], *, open_it: bool, json: bool) -> None:
    """Say where the desk is, and answer until Ctrl-C."""
    from glassformer.desk.app import create_desk
    from glassformer.serving.listening import allowed_hosts, answer_requests

    url = address.url.rstrip("/")
    desk = create_desk(
        project, partial(_command, settings), hosts=allowed_hosts(address), in_words=in_words,
        on_used=lambda query: show(f"a new address: {url}/{query}"),
    )  # fmt: skip
    if json:
        print_json({"url": f"{url}/{desk.app.query}", "project": str(project.folder)})
    else:
        show(f"{project.folder}: {url}/{desk.app.query}    (Ctrl-C closes the desk)")
    if open_it:
        open_in_browser(f"{url}/{desk.app.query}")
    doing("")
    try:
        answer_requests(desk.app, address, on_finishing=say_finishing)
    finally:
        desk.rounds.stop()


def _command(settings: Sequence[str], table: str, out: str, asked: Mapping[str, Any]) -> list[str]:
    """Return the command of a round of training."""
    values = {name: [value] if isinstance(value, str) else value for name, value in asked.items()}
    named = [part for name, all_of_it in values.items() for value in all_of_it for part in (f"--{name}", value)]
    changed = [part for setting in settings for part in ("--set", setting)]
    return ["glassformer", "train", table, "--out", out, *named, *changed]
