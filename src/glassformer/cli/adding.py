"""The options of `train` that train a model further on rows that were added later."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.output import doing, say
from glassformer.cli.there import table
from glassformer.data.wording import names_in
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.training.adding import Beginning

Add = Annotated[
    str | None,
    typer.Option(
        callback=table,
        help="Train the model of --init further, on its old rows and those of this table. Labels may be new.",
    ),
]
Replay = Annotated[
    float | None,
    typer.Option(help="With --add: the share of the old rows that the transformer learns again. Default: 1."),
]


def check_named(data: str | None, replay: float | None) -> None:
    """Raise `UsageError` if there is no table to learn from, or a share of rows that nothing is added to."""
    if data is None:
        raise UsageError("name a table to learn from: glassformer train TABLE --out FOLDER")
    if replay is not None:
        raise UsageError(f"--replay {replay:g} is a share of old rows; it goes with --init and --add")


_BESIDE_ADD = {
    "out", "init", "add", "replay", "order", "encoding", "unlabelled", "set_", "epochs", "learning_rate", "device",
    "data_dir", "rules", "snapshots", "keep_texts", "resume", "overwrite", "quiet", "json",
}  # fmt: skip
"""The options of `train` that go with --add. The others contradict it."""


def addition(
    init: str | None,
    added: str,
    out: Path,
    *,
    replay: float | None,
    settings: Mapping[str, Any],
    order: str | None,
    encoding: str | None,
    given: Mapping[str, Any],
    data_dir: Path | None,
) -> Beginning:
    """Read the old rows and the new ones."""
    from glassformer.training.adding import add_to

    if init is None:
        raise UsageError(f"--add {added}: name the model to train further with --init")
    asked = [name for name, value in given.items() if not (value is None or value is False or value in ([], ()))]
    if contradicting := [name for name in asked if name not in _BESIDE_ADD]:
        flags = ("TABLE" if name == "data" else f"--{name.replace('_', '-')}" for name in contradicting)
        raise UsageError(
            f"--add takes the table, its columns, what is held out and the recipe from {init}; leave out "
            f"{' and '.join(flags)}"
        )
    if out.resolve() == Path(init).resolve():
        raise UsageError(
            f"--out {out} is the model of --init, which would be lost if training stopped; name another one"
        )
    from glassformer.targets.parts import part_of

    doing(f"reading the rows of {init}, and {added}")
    found = add_to(
        Path(init),
        added,
        replay=1.0 if replay is None else replay,
        settings=settings,
        order=None if order is None else tuple(names_in(order)),
        encoding=encoding,
        data_dir=data_dir,
    )
    if found.init is not None:
        say(
            "note: on the tables of docs/how-to/add.md, training anew on all rows was as accurate and about as fast. "
            "If a new label has few rows, it is better"
        )
    else:
        say(
            f"note: {init} held out no rows, so nothing could judge it after further training. Training begins anew, "
            "on all old and new rows"
        )
    for news in part_of(found.source.task, "training").news(found.sources):
        say(f"note: {news}")
    return found
