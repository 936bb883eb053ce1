"""Texts without labels, for a language model: from a known data set, a column of a table, or plain text files.

A classifier may be pre-trained on them. Then some are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from glassformer.data.addresses import local_path, without_password
from glassformer.data.columns import same_column
from glassformer.data.encodings import decoded_text
from glassformer.data.folder_encoding import FolderDecoder
from glassformer.data.formats.all_formats import EXTENSIONS, FORMATS
from glassformer.data.formats.compressions import is_compressed, opened
from glassformer.data.input_columns import composer
from glassformer.data.inputs import MARK, SEPARATOR, Inputs
from glassformer.data.known import KNOWN, check_source, resolve, resolve_unlabelled
from glassformer.data.lines import OnNote
from glassformer.data.model_marks import MARKS, RECORD_FILE
from glassformer.data.parts import exists, file_of
from glassformer.data.rows import DAMAGE, ROWS_PER_BATCH, batches_of, check_file
from glassformer.data.shards import files_of
from glassformer.data.splits import ValidationConfig, digest_of
from glassformer.data.table import Table, first_rows, read_table, row_keys, text_keys
from glassformer.data.wording import counted, listed
from glassformer.errors import UsageError, quoted

PLAIN = (".txt", ".text", ".md")
"""The extensions of plain text. One of a compression may follow."""
_TEXT_FOR_A_NUL = 10_000
"""In so many characters, a NUL is a slip of whoever made the file, and is read as a space. In fewer, it is no text."""
_SHOWN = 3
_NAME_TEXTS = "name a folder of text files, a text file or a table"
_MOST_LINES = 50  # of a paragraph, on average. Paragraphs of more are lines that some blank ones stand between


@dataclass(frozen=True, kw_only=True)
class Documents:
    """Texts in the order of their source.

    Attributes:
        texts: strings, none of them blank.
        own: whether they are rows of a training table. It is then no mistake if none of them is left to read.
    """

    texts: pl.Series
    source: str
    notes: tuple[str, ...] = ()
    own: bool = False

    @property
    def n_bytes(self) -> int:
        """The length of all texts in UTF-8."""
        return int(self.texts.str.len_bytes().sum())

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of the texts in their order."""
        return digest_of(self.texts)


def read_documents(
    source: str,
    data_dir: Path | None = None,
    *,
    text: str | None = None,
    like: str | None = None,
    rows: bool = False,
) -> Documents:
    """The training texts of a known data set, the texts of a table, or the paragraphs of a text file.

    Args:
        text: the column of the table. None: it is found automatically.
        like: without `text`, the column to take if the table has it.
        rows: the texts are like rows of a table, so few blank lines of a text file part no paragraphs.

    Raises:
        UsageError: there is no such source, or it cannot be read, or it holds no text.
    """
    path, source = local_path(source), without_password(source)
    if source not in KNOWN and is_plain(file_of(path)):
        if text is not None:
            raise UsageError(f"`text={text!r}`: {source} is plain text and has no columns; leave it out")
        return replace(_paragraphs(path, rows=rows), source=source)
    file = file_of(path)
    if source in KNOWN or not exists(file):
        table = resolve(source, "train", data_dir, text=text)
    elif file.is_file() and file.suffix.lower() not in EXTENSIONS:
        raise UsageError(
            f"{source}: the extension does not say what this is. Plain text: {', '.join(PLAIN)}; tables: "
            f"{', '.join(FORMATS)}"
        )
    else:
        text = text or (same_column(like, first_rows(path).columns) if like else None)
        table = read_table(path, text=text, labelled=False)
    left_out = tuple(f"left out: {len(dropped.rows):,} × {dropped.reason}" for dropped in table.dropped)
    return Documents(texts=table.frame["text"], source=source, notes=(*table.notes, *left_out))


def _paragraphs(path: Path, *, rows: bool) -> Documents:
    """Return the paragraphs, which are separated by blank lines. A file without blank lines gives its lines.

    Args:
        rows: a file with few blank lines gives its lines too.
    """
    found: list[str] = []
    whole = re.sub(r"\r\n?", "\n", decoded(path, on_note=found.append))
    paragraphs = [paragraph.strip("\n") for paragraph in re.split(r"\n(?:[^\S\n]*\n)+", whole) if paragraph.strip()]
    kind = "paragraphs (blank lines stand between them)"
    lines = [line for line in whole.split("\n") if line.strip()]
    if len(paragraphs) == 1 or (rows and len(lines) > _MOST_LINES * len(paragraphs)):
        paragraphs, kind = lines, "lines"
    if not paragraphs:
        raise UsageError(f"{path} holds no text")
    return Documents(texts=pl.Series(paragraphs), source=str(path), notes=(*found, f"{len(paragraphs):,} {kind}"))


def is_plain(path: Path) -> bool:
    """Whether the extension is that of plain text."""
    return Path(path.stem if is_compressed(path) else path).suffix.lower() in PLAIN


def decoded(path: Path, *, on_note: OnNote | None = None) -> str:
    """Return the text of a file. Raises `UsageError` if no encoding fits, or it is not a text file."""
    return _without_nul(decoded_text(_bytes_of(path), str(path), on_note=on_note), path)


def _bytes_of(path: Path) -> bytes:
    try:
        with opened(check_file(path)) as stream:
            return stream.read()
    except DAMAGE as error:
        raise UsageError(f"{path} cannot be read, it may be damaged: {error}") from error


def _without_nul(text: str, path: Path) -> str:
    if (nul := text.find("\0")) >= 0 and text.count("\0") * _TEXT_FOR_A_NUL > len(text):
        line = text.count("\n", 0, nul) + 1
        raise UsageError(f"{path}, line {line}: a NUL byte, so this is not a text file")
    return text.replace("\0", " ")


def split_documents(documents: Documents, config: ValidationConfig, *, seed: int) -> tuple[Documents, Documents | None]:
    """Split into texts to train on and held-out texts. No training text equals a held-out one.

    Raises:
        UsageError: this kind of split needs a table with labels, or nothing is left to train on.
    """
    if (config.group, config.time, config.file) != (None, None, None):
        raise UsageError("validation: of texts without labels, a share is held out; leave out group, time and file")
    n_texts = len(documents.texts)
    if not config.fraction or n_texts < max(2, config.min_rows):
        return documents, None
    chosen = np.random.default_rng(seed).permutation(n_texts)[: max(1, round(config.fraction * n_texts))]
    held_out = documents.texts[np.sort(chosen)]
    keys = text_keys(documents.texts)
    train = documents.texts.filter(~keys.is_in(text_keys(held_out).unique().implode()))
    if train.is_empty():
        raise UsageError(f"{documents.source}: no text is left to train on, all of them are equal to held-out ones")
    repeated = n_texts - len(train) - len(held_out)
    notes = documents.notes + ((f"left out: {repeated} × equal to a held-out text",) if repeated else ())
    return replace(documents, texts=train, notes=notes), replace(documents, texts=held_out, notes=())


_LEFT_OUT = ("test", "validation", "training", "repeated")
"""Why an unlabelled text is left out, in the order in which the reasons are looked for."""


@dataclass(frozen=True, kw_only=True)
class Unlabelled:
    """The unlabelled texts that are read, in their order. None is a held-out text, and none occurs twice.

    Attributes:
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
        return digest_of(self.texts)


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
    if exists(path := local_path(source)) and path.is_dir():
        return replace(_folder(path), source=without_password(source))
    return read_documents(source, data_dir, like=like, rows=True)


def rows_without_label(*tables: Table) -> tuple[Documents, ...]:
    """Return the texts of the rows that lack a label, of each table that has some."""
    return tuple(
        Documents(texts=texts_apart(table.unlabelled["text"], table.inputs), source=table.source, own=True)
        for table in tables
        if table.unlabelled is not None
    )


def texts_apart(texts: pl.Series, inputs: Inputs | None) -> pl.Series:
    """Return texts. Of rows with several inputs, each text is one of its own, without the columns."""
    if inputs is None:
        return texts
    apart = texts.str.replace_all(MARK, "").str.split(SEPARATOR).explode()
    return apart.filter(apart.str.strip_chars() != "")


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
    path, source = local_path(source), without_password(source)
    compose = composer(first_rows(path), inputs, source)
    batches = batches_of(files_of(path), rows_per_batch=ROWS_PER_BATCH)
    texts = pl.Series([text for batch in batches for text in compose(batch) if text], dtype=pl.String)
    if texts.is_empty():
        raise UsageError(f"{source} holds no text")
    return Documents(texts=texts, source=source)


def _folder(path: Path) -> Documents:
    """Return the text files below a folder, each as one text, in the order of their paths. Hidden ones are skipped.

    The folders of models in it are left out: they hold cards and words.
    """
    inside = [
        file
        for file in path.rglob("*")
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]
    models = {file.parent for file in inside if file.suffix == ".safetensors" or file.name == RECORD_FILE}
    if path in models:
        if any((path / mark).is_file() for mark in MARKS):
            raise UsageError(f"{path} holds a model; {_NAME_TEXTS}")
        models.remove(path)  # weights alone may lie beside texts
    apart = [file for file in inside if models.isdisjoint(file.parents)]
    files = sorted(filter(is_plain, apart))
    names = sorted(quoted(str(each.relative_to(path))) for each in models if models.isdisjoint(each.parents))
    which = "which is a model" if len(names) == 1 else "which are models"
    left_out = f"left out: {listed(names, _SHOWN)}, {which}"
    if names and not apart:
        kind = "a model" if len(names) == 1 else "models"
        raise UsageError(f"{path} holds only {kind} ({listed(names, _SHOWN)}); {_NAME_TEXTS}")
    if not files:
        raise UsageError(f"{path} is a folder without text files ({', '.join(PLAIN)}); {_NAME_TEXTS}")
    found = [left_out] if names else []
    decoder = FolderDecoder(path, files, _bytes_of, on_note=found.append)
    texts = pl.Series([_without_nul(decoder.text(file), file) for file in files], dtype=pl.String)
    texts = texts.filter(texts.str.strip_chars() != "")
    if texts.is_empty():
        raise UsageError(f"{path} holds no text: all its text files are empty")
    return Documents(texts=texts, source=str(path), notes=(counted(len(files), "text file"), *found))


def admitted(
    documents: Sequence[Documents],
    *,
    training: pl.Series | None = None,
    validation: pl.Series | None = None,
    test: pl.Series | None = None,
) -> Unlabelled:
    """Leave out every text that is held out, is read already, or occurred before. Texts are equal as in `text_keys`.

    Rows of several inputs that differ in a column do not repeat each other.

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
            own = row_keys(texts) if reason == "repeated" else text_keys(texts)
            known_already = own.is_in(keys.implode())
            if reason == "repeated":
                known_already |= ~own.is_first_distinct()
            here[reason] = int(known_already.sum())
            texts = texts.filter(~known_already)
        if texts.is_empty() and not source.own:
            why = ", ".join(f"{number:,} {_said(reason, number)}" for reason, number in here.items() if number)
            raise UsageError(
                f"{source.source}: no text is left to read. Of {counted(len(source.texts), 'text')}, {why}; "
                "name other texts, or leave it out"
            )
        kept.append(texts)
        seen["repeated"] = pl.concat([seen["repeated"], row_keys(texts)])
        left_out = {reason: number + here[reason] for reason, number in left_out.items()}
    return Unlabelled(
        texts=pl.concat(kept) if kept else pl.Series([], dtype=pl.String),
        sources=tuple(source.source for source, texts in zip(documents, kept, strict=True) if not texts.is_empty()),
        left_out={reason: number for reason, number in left_out.items() if number},
    )


def _said(reason: str, number: int) -> str:
    if reason == "repeated":
        return "repeats another" if number == 1 else "repeat others"
    kind = f"{reason} text"
    return f"is also a {kind}" if number == 1 else f"are also {kind}s"
