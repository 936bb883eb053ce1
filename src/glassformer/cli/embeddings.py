"""`glassformer embeddings`: learn vectors of words from texts without labels."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.given import settings_of
from glassformer.cli.options import Again, DataDir, Shown, TextColumn
from glassformer.cli.output import doing, print_json, say, show
from glassformer.cli.resume import resumable
from glassformer.cli.there import tables
from glassformer.data.wording import counted, duration
from glassformer.errors import GlassformerError, UsageError, quoted

if TYPE_CHECKING:
    from glassformer.readers.body.vectors import Axis, Body

_SHOWN, _NEAREST, _FROM, _STEP = 5, 5, 200, 300  # frequent words, but not the most frequent ones
_LITTLE = 300_000
"""Vectors of fewer words are worse than `english`, and hardly as good as counting words (docs/log.md)."""


def embeddings(
    texts: Annotated[
        list[str],
        typer.Argument(
            callback=tables, help="Text files, tables with a column of texts, or known data sets, in any language."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    base: Annotated[
        str | None,
        typer.Option("--from", metavar="<body>", help="Continue a body on the texts: `english`, or a folder of one."),
    ] = None,
    axes: Annotated[
        str | None,
        typer.Option(
            metavar="<body>",
            help="Take the axes of another body. `english` has one, from blame to praise.",
        ),
    ] = None,
    text: TextColumn = None,
    dims: Annotated[
        int | None, typer.Option(help="How many numbers a vector has, by default 200. It does not go with --from.")
    ] = None,
    window: Annotated[int, typer.Option(help="How many words to each side of a word are its neighbours.")] = 10,
    most_words: Annotated[int, typer.Option(help="How many words get a vector, the most frequent ones.")] = 60_000,
    min_count: Annotated[int, typer.Option(help="How often a word must occur to get a vector.")] = 8,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    data_dir: DataDir = None,
    *,
    again: Again,
    shown: Shown,
) -> None:
    """Learn a body for models to read with: vectors of words and of their pieces, from texts without labels."""
    from glassformer.data.checksums import write_sums
    from glassformer.data.documents import read_documents
    from glassformer.data.files import as_path, folder_written_aside, short_name
    from glassformer.prediction.folder_format import is_unfinished
    from glassformer.prediction.folder_names import CHECKPOINT_FOLDER
    from glassformer.readers.body.learning import BodySettings, learn_body
    from glassformer.readers.body.vectors import SOURCES_FILE, Body, body_folder
    from glassformer.training.unfinished import work_in

    if base is not None and dims is not None:
        raise UsageError(
            f"--dims {dims}: vectors that are continued (--from {base}) keep as many numbers as they have; leave it out"
        )
    clock = time.perf_counter()
    taken_axes = () if axes is None else _axes_of(axes, base)
    begun = None if base is None else Body.load(body_folder(base))
    given = {} if dims is None else {"dims": dims}
    given |= {"window": window, "most_words": most_words, "min_count": min_count, "seed": seed}
    settings = settings_of(BodySettings, **given)
    _check_place(out, again)
    identity = _identity(texts, text, base, taken_axes)  # before a long time is spent on some
    work = as_path(out.with_name(f"{short_name(out)}.unfinished"))
    sources = (read_documents(source, data_dir, text=text) for source in texts)
    try:
        with (
            resumable(work),
            work_in(work, {"settings": settings, **identity}, resume=again.resume, overwrite=again.overwrite),
        ):
            name, kept = out.resolve().name, work / CHECKPOINT_FOLDER
            body = learn_body(name, sources, settings, doing, base=begun, axes=taken_axes, work=kept)
            with folder_written_aside(out) as folder:
                body.save(folder)
                of_base = None if base is None else body_folder(base) / SOURCES_FILE
                if of_base is not None and of_base.is_file() and not of_base.is_symlink():  # else to any file of yours
                    shutil.copyfile(of_base, folder / SOURCES_FILE)
                write_sums(folder)
    except GlassformerError:
        if not is_unfinished(work):
            shutil.rmtree(work, ignore_errors=True)
        raise
    shutil.rmtree(work, ignore_errors=True)
    _warn(body)
    _show(Body.load(out), out, seconds=time.perf_counter() - clock, json=shown.json)


def _identity(texts: Sequence[str], text: str | None, base: str | None, axes: Sequence[Axis]) -> dict[str, Any]:
    """Return what a run that is resumed must have in common with the one before, beside its settings."""
    from glassformer.data.encodings import named_encoding
    from glassformer.training.unfinished import content_of

    found = {**_content(texts), "column": text, "from": base}
    found |= {} if base is None else content_of(base)
    found |= {"axes": [axis.model_dump(mode="json") for axis in axes]} if axes else {}
    return found | ({} if named_encoding() is None else {"encoding": named_encoding()})


def _axes_of(body: str, base: str | None) -> tuple[Axis, ...]:
    """Return the axes of a body. Raises `UsageError` if it has none, or another one is continued."""
    from glassformer.readers.body.vectors import Body, body_folder

    if base is not None:
        raise UsageError(f"--axes {body}: a body that is continued (--from {base}) keeps its own axes; leave it out")
    if not (axes := Body.load(body_folder(body)).card.axes):
        raise UsageError(f"--axes {body}: this body has no axes; leave it out")
    return axes


def _warn(body: Body) -> None:
    """Say if the texts were too few, or their words, for what was asked."""
    if body.card.base is None and body.card.read < _LITTLE:
        read = counted(body.card.read, "word")
        say(f"note: {read} are few for vectors; give more texts, or if they are English, --from english")
    if body.card.axes and body.stretch is None:
        named = " and ".join(quoted(axis.name) for axis in body.card.axes)
        say(f"warning: the texts hold too few words of the axis {named}, so it changes nothing")


def _check_place(out: Path, again: Again) -> None:
    """Raise `UsageError` if a body or other files would be lost."""
    from glassformer.data.checksums import check_nothing_added
    from glassformer.data.files import check_link
    from glassformer.data.model_marks import BODY_FILE

    if out.name in ("", ".."):
        raise UsageError(f"--out {out} is replaced as a whole; name a folder in it, such as {out / 'body'}")
    check_link(out)
    holds_body = (out / BODY_FILE).is_file()
    if holds_body and not (again.overwrite or again.resume):
        raise UsageError(f"{out} already holds a body; choose another folder, or --overwrite to replace it")
    if holds_body:
        check_nothing_added(out)
    if not holds_body and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is not an empty folder; choose one that is new or empty")


def _content(texts: Sequence[str]) -> dict[str, Any]:
    """Return the sources and the fingerprint of their files. Raises `UsageError` if one is not there."""
    from glassformer.data.addresses import local_path, without_password
    from glassformer.data.checksums import sha256_of
    from glassformer.data.known import KNOWN
    from glassformer.data.rows import check_file

    names = list(map(without_password, texts))
    files = [check_file(local_path(source)) for source in names if source not in KNOWN]
    return {"texts": names, "unlabelled": sha256_of(files)}


def _examples(body: Body) -> dict[str, Sequence[str]]:
    """Return some words with those that have the nearest vectors."""
    words = [word for word in body.words[_FROM::_STEP] if word.isalpha()][:_SHOWN] or body.words[:_SHOWN]
    return {word: [near for near, _ in body.nearest(word, _NEAREST)] for word in words}


def _show(body: Body, out: Path, *, seconds: float, json: bool) -> None:
    examples = _examples(body)
    size = sum(file.stat().st_size for file in out.iterdir())
    if json:
        print_json(
            {"body": str(out), "words": len(body.words), "pieces": len(body.pieces), "bytes": size, "nearest": examples}
            | body.card.model_dump()
            | {"seconds": round(seconds, 3)}
        )
        return
    show(
        f"{out}: vectors of {counted(len(body.words), 'word')} and {counted(len(body.pieces), 'piece')} of words, "
        f"from {body.card.read:,} words, in {duration(seconds)}; {size / 1e6:.1f} MB"
    )
    for word, near in examples.items():
        show(f"  near {word}: {', '.join(near)}")
