"""`glassformer data`: list and download the known data sets."""

from pathlib import Path
from typing import Annotated

import typer

from glassformer.cli.flags import as_flags
from glassformer.cli.options import DataDir, Json
from glassformer.cli.output import doing, print_json, say, show

app = typer.Typer(help="List the known data sets, or download one.", no_args_is_help=True, rich_markup_mode=None)


@app.command("list")
def list_(data_dir: DataDir = None, json: Json = False) -> None:
    """List the known data sets, and show which ones are on this machine."""
    from glassformer.data.known import KNOWN, find, missing_splits

    here = {name: not known.files or find(name, "train", data_dir) is not None for name, known in KNOWN.items()}
    if json:
        print_json(
            {
                "datasets": [
                    {
                        "name": name,
                        "here": here[name],
                        "title": known.title,
                        "description": known.description,
                        "splits": known.splits,
                        "source": known.source_url,
                        "checksum": known.checksum,
                        "licence": known.licence,
                        "citation": known.citation,
                    }
                    for name, known in KNOWN.items()
                ]
            }
        )
        return
    for name, known in KNOWN.items():
        lacking = f", without: {', '.join(missing)}" if (missing := missing_splits(name, data_dir)) else ""
        get_it = f"; glassformer data get {name}" if missing else ""
        show(f"{name}  ({f'here{lacking}' if here[name] else 'not here'}{get_it})")
        show(f"    {known.title}. {known.description}")
        show(f"    splits: {known.splits}")
        show(as_flags(f"    source: {known.source_url or known.by_hand or 'comes with glassformer'}"))
        show(f"    licence: {known.licence}")
        show(f"    cite: {known.citation}")


@app.command("get")
def get(
    name: Annotated[str, typer.Argument(help="The name of a known data set.")],
    data_dir: DataDir = None,
    from_: Annotated[
        Path | None, typer.Option("--from", help="Read this copy of the published file instead of downloading it.")
    ] = None,
    json: Json = False,
) -> None:
    """Download a data set, check it and unpack it, unless it is on this machine."""
    from rich.progress import BarColumn, DownloadColumn, TimeRemainingColumn

    from glassformer.cli.live import Live, words
    from glassformer.data.known import KNOWN, download, find, missing_splits

    is_here = name in KNOWN and KNOWN[name].files and not missing_splits(name, data_dir)
    if from_ is None and is_here and (file := find(name, "train", data_dir)) is not None:
        say(f"{name} is here already; to download it again, remove this folder")
        _show_got(name, file.parent, json=json)
        return
    with Live(words("{task.fields[name]}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()) as view:

        def on_progress(done: int, total: int | None) -> None:
            view.move(done, total, name=name)
            doing(f"{name}: {done:,} bytes")

        folder = download(
            name,
            data_dir,
            progress=on_progress,
            from_file=from_,
        )
    _show_got(name, folder, json=json)


def _show_got(name: str, folder: Path, *, json: bool) -> None:
    if json:
        print_json({"name": name, "folder": str(folder)})
    else:
        show(str(folder))
    say(f"next: glassformer train {name} --out runs/{name}")
