"""`glassformer desk`: a page on this machine to label texts at, to train and to mend labels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from glassformer.cli.options import Json, Settings
from glassformer.cli.output import doing, print_json, say, show
from glassformer.cli.serve import in_words, open_in_browser, say_finishing
from glassformer.errors import UsageError


def desk(
    table: Annotated[
        Path | None, typer.Argument(help="A table of texts, with or without labels. It can be chosen on the page too.")
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(help="The folder that keeps labels and models. Default: TABLE-desk beside the table, or desk."),
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the page in a browser.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="<int>", help="The port. 0: any free one.")] = 0,
    settings: Settings = None,
    json: Json = False,
) -> None:
    """Open a page to label texts at, to train, and to mend labels. Ctrl-C closes it, and nothing is lost."""
    from glassformer.prediction.installed import pip_install

    try:
        import fastapi  # noqa: F401
        import prometheus_client  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise UsageError(f"the desk needs an extra: {pip_install('serve')}") from error
    from glassformer.data.locks import only_writer
    from glassformer.desk.app import create_desk
    from glassformer.desk.project import Project
    from glassformer.serving.listening import allowed_hosts, answer_requests, listen

    folder = project or (Path("desk") if table is None else table.with_name(f"{table.name.partition('.')[0]}-desk"))
    address = listen("127.0.0.1", port)
    with only_writer(folder):
        opened = Project.open(folder)
        if table is not None and opened.table is None:
            opened.take(table)
        elif table is not None:
            say(f"going on with the labels in {folder}; {table} is not read again")
        shown = address.url.rstrip("/")
        desk = create_desk(
            opened, partial(_command, settings or ()), hosts=allowed_hosts(address), in_words=in_words,
            on_used=lambda query: show(f"a new address: {shown}/{query}"),
        )  # fmt: skip
        if json:
            print_json({"url": f"{shown}/{desk.query}", "project": str(folder)})
        else:
            show(f"{folder}: {shown}/{desk.query}    (Ctrl-C closes the desk)")
        if not no_open:
            open_in_browser(f"{shown}/{desk.query}")
        doing("")
        try:
            answer_requests(desk.app, address, on_finishing=say_finishing)
        finally:
            desk.rounds.stop()
            opened.store.close()


def _command(settings: Sequence[str], table: str, out: str) -> list[str]:
    """Return the command of a round of training."""
    changed = [part for setting in settings for part in ("--set", setting)]
    return ["glassformer", "train", table, "--out", out, "--task", "classes", *changed]
