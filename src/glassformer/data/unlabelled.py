"""Texts without labels that a classifier is pre-trained on: where they come from, and which of them are left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import polars as pl

from glassformer.data.documents import PLAIN, Documents, decoded, read_documents
from glassformer.data.input_columns import composer
from glassformer.data.inputs import Inputs
from glassformer.data.known import KNOWN, check_source, resolve_unlabelled
from glassformer.data.shards import batches_of, files_of
from glassformer.data.table import ROWS_PER_BATCH, text_keys
from glassformer.data.wording import counted
from glassformer.errors import UsageError, quoted

_LEFT_OUT = {
    "test": ("is also a test text", "are also test texts"),
    "validation": ("is also a validation text", "are also validation texts"),
    "training": ("is also a training text", "are also training texts"),
    "repeated": ("repeats another", "repeat others"),
}
"""Why an unlabelled text is left out, in the order in which the reasons are looked for."""


@dataclass(frozen=True, kw_only=True)
class Unlabelled:
    """The unlabelled texts that are read, in their order. None is a held-out text, and none occurs twice.

    Attributes:
        sources: the names or paths that the user gave.
        left_out: how many texts were left out, by reason: `test`, `validation`, `training` or `repeated`.
    """

    texts: pl.Series
    sources: tuple[str, ...] = ()
    left_out: Mapping[str, int]

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each reason why texts were left out."""
        return tuple(
            f"{counted(number, 'unlabelled text')} {_said(reason, number)} and {'was' if number == 1 else 'were'} "
            "left out"
            for reason, number in self.left_out.items()
        )

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the texts in their order."""
        return Documents(texts=self.texts, source="").fingerprint


def read_unlabelled(source: str, data_dir: Path | None = None, *, like: str | None = None) -> Documents:
    """Read a text file, the text column of a table, a folder of text files, or what a known data set brings.

    Args:
        like: the text column of the training table. It is taken if the table has it, else the column is found.

    Raises:
        UsageError: there is no such source, or it cannot be read, or it holds no text.
    """
    if source in KNOWN:
        table = resolve_unlabelled(source, data_dir)
        return Documents(texts=table.frame["text"], source=source, notes=table.notes)
    try:
        is_folder = Path(source).is_dir()
    except OSError as error:  # no file can have such a name
        raise UsageError(f"{quoted(source)} cannot be read: {error.strerror}") from error
    if is_folder:
        return _folder(Path(source))
    return read_documents(source, data_dir, like=like)


def read_rows(source: str, inputs: Inputs) -> Documents:
    """Read the rows of a table without labels for a model of several inputs. Rows without text are left out.

    Raises:
        UsageError: it is not a table, cannot be read, lacks an input, or holds no text.
    """
    check_source(source)
    if source in KNOWN:
        raise UsageError(
            f"{source} brings one text a row, and this model reads {inputs.in_words}; name a table with them"
        )
    batches = batches_of(files_of(Path(source)), rows_per_batch=ROWS_PER_BATCH)
    first = next(batches)
    compose = composer(first, inputs, source)
    texts = pl.Series([text for batch in chain([first], batches) for text in compose(batch) if text], dtype=pl.String)
    if texts.is_empty():
        raise UsageError(f"{source} holds no text")
    return Documents(texts=texts, source=source)


def _folder(path: Path) -> Documents:
    """Return the text files below a folder, each as one text, in the order of their paths. Hidden ones are skipped."""
    files = sorted(
        file
        for file in path.rglob("*")
        if file.suffix.lower() in PLAIN
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )
    if not files:
        raise UsageError(
            f"{path} is a folder without text files ({', '.join(PLAIN)}); name a folder of text files, a text file or "
            "a table"
        )
    texts = pl.Series([decoded(file) for file in files], dtype=pl.String)
    texts = texts.filter(texts.str.strip_chars() != "")
    if texts.is_empty():
        raise UsageError(f"{path} holds no text: all its text files are empty")
    return Documents(texts=texts, source=str(path), notes=(counted(len(files), "text file"),))


def admitted(
    documents: Sequence[Documents],
    *,
    training: pl.Series | None = None,
    validation: pl.Series | None = None,
    test: pl.Series | None = None,
) -> Unlabelled:
    """Leave out every text that is held out, is read already, or occurred before. Texts are equal as in `text_keys`.

    Raises:
        UsageError: all texts of a source are left out.
    """
    known = {"test": test, "validation": validation, "training": training}
    seen = {reason: text_keys(texts).unique() for reason, texts in known.items() if texts is not None}
    seen["repeated"] = pl.Series([], dtype=pl.String)
    kept, left_out = [], dict.fromkeys(_LEFT_OUT, 0)
    for source in documents:
        texts, here = source.texts, dict.fromkeys(_LEFT_OUT, 0)
        for reason, keys in seen.items():
            known_already = text_keys(texts).is_in(keys.implode())
            if reason == "repeated":
                known_already |= ~text_keys(texts).is_first_distinct()
            here[reason] = int(known_already.sum())
            texts = texts.filter(~known_already)
        if texts.is_empty():
            why = ", ".join(f"{number:,} {_said(reason, number)}" for reason, number in here.items() if number)
            raise UsageError(
                f"{source.source}: no text is left to read. Of {counted(len(source.texts), 'text')}, {why}; "
                "name other texts, or leave it out"
            )
        kept.append(texts)
        seen["repeated"] = pl.concat([seen["repeated"], text_keys(texts)])
        left_out = {reason: number + here[reason] for reason, number in left_out.items()}
    return Unlabelled(
        texts=pl.concat(kept) if kept else pl.Series([], dtype=pl.String),
        sources=tuple(source.source for source in documents),
        left_out={reason: number for reason, number in left_out.items() if number},
    )


def _said(reason: str, number: int) -> str:
    return _LEFT_OUT[reason][number != 1]
