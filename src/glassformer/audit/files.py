"""Read every file of a model folder as a stranger would, and list the personal data in it."""

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from glassformer.audit.columns import Columns
from glassformer.audit.in_page import MOST_BYTES, unpack
from glassformer.audit.patterns import NAME, masked, masked_name, personal_data
from glassformer.audit.result import FileAudit, Found
from glassformer.data.checksums import SUMS_FILE
from glassformer.data.inputs import BEGIN, Inputs
from glassformer.data.json_files import read_json
from glassformer.data.locks import LOCK_FILE
from glassformer.data.tokenizers import TextTokenizer
from glassformer.errors import GlassformerError
from glassformer.exporting.web import PAGE_FILE
from glassformer.prediction.exported import MODEL_FILE
from glassformer.prediction.folder_names import (
    AUDIT_FILE,
    AUDIT_PAGE,
    CHECKPOINT_FOLDER,
    EVALUATION_FOLDER,
    REPORT_FILE,
    SNAPSHOTS_FOLDER,
    TEXTS_FILE,
    VECTORS_FILE,
)
from glassformer.prediction.reader_files import READERS_FOLDER
from glassformer.readers.body.reader import CONTINUED
from glassformer.readers.body.vectors import SHIPPED, Body
from glassformer.readers.counting.ngrams import END, LONGEST_RUN, START
from glassformer.readers.counting.reader import NGRAMS_FILE, WEIGHTS_FILE
from glassformer.readers.counting.unlike import SEEN_FILE

_HOLDS = {
    "config.json": "settings, labels, the names of your tables",
    "tokenizer.json": "the vocabulary: words of the training texts",
    "model.safetensors": "weights of the transformer",
    MODEL_FILE: "weights of the transformer",
    NGRAMS_FILE: "runs of up to three words of the training texts",
    WEIGHTS_FILE: "weights of these runs",
    SEEN_FILE: "hashes of words and word pairs that at least two training texts have",
    "metrics.json": "figures of training",
    REPORT_FILE: "the report of training: figures, row numbers, frequent words",
    "README.md": "the model card",
    SUMS_FILE: "the checksums of the other files",
    "glassformer.json": "how the model was exported",
}
_OF_THE_OWNER = {
    TEXTS_FILE: "all training texts",
    VECTORS_FILE: "a vector of each training text",
    LOCK_FILE: "who writes here: host and process",
    AUDIT_FILE: "this audit",
    AUDIT_PAGE: "this audit",
}
_FOLDERS_OF_THE_OWNER = {
    EVALUATION_FOLDER: "a report, which quotes texts with errors",
    SNAPSHOTS_FOLDER: "some of your texts, in a page",
    CHECKPOINT_FOLDER: "an unfinished run, with the encoded texts",
}
_OF_OTHERS = "not written by glassformer"
READABLE = {".json", ".jsonl", ".md", ".txt", ".csv", ".tsv", ".html", ".log", ".toml", ".yaml", ".yml"}
_EXAMPLES = 3
_MARKUP_OF_OTHERS = re.compile("<(?=[!?]|/[^a-zA-Z])")
INSIDE = " › "  # between a page and a file in it
_ENDINGS = frozenset(
    [
        *("com", "org", "net", "edu", "gov", "mil", "int", "info", "biz", "io", "co", "me", "eu", "uk", "ie", "de"),
        *("at", "ch", "fr", "be", "nl", "lu", "it", "es", "pt", "gr", "se", "no", "fi", "dk", "is", "pl", "cz", "sk"),
        *("hu", "ro", "bg", "hr", "si", "rs", "ua", "ru", "tr", "il", "ae", "sa", "in", "pk", "bd", "lk", "cn", "jp"),
        *("kr", "tw", "hk", "sg", "my", "th", "vn", "id", "ph", "au", "nz", "za", "ng", "ke", "eg", "ma", "us", "ca"),
        *("mx", "br", "ar", "cl", "pe"),
    ]
)
"""Endings of hosts. The n-grams do not tell "meet @ cafe. then" from "meet@cafe.then": only these endings count."""


def audit_files(folder: Path, inputs: Inputs | None = None, *, is_export: bool = False) -> tuple[FileAudit, ...]:
    """Return what each file holds, in the order of the alphabet, those of sub-folders last. Links are not followed.

    Args:
        is_export: whether `export` wrote the folder. Files that model folders do not have belong to it then.
    """
    columns = Columns(inputs)
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    ordered = sorted(files, key=lambda path: (len(path.relative_to(folder).parts), path.as_posix()))
    found = []
    for path in ordered:
        found.append(_audit(path, path.relative_to(folder), columns, is_export=is_export))
        if is_export and path == folder / PAGE_FILE:
            found += _in_page(path, columns)
    return tuple(found)


def _in_page(page: Path, columns: Columns) -> Iterator[FileAudit]:
    """Audit the files that the page of an export holds."""
    with TemporaryDirectory() as folder:
        for path in unpack(page, Path(folder)):
            audited = _audit(path, path.relative_to(folder), columns, is_export=True)
            yield audited.model_copy(update={"name": f"{page.name}{INSIDE}{path.name}"})


def _audit(path: Path, name: Path, columns: Columns, *, is_export: bool) -> FileAudit:
    holds, give_away = _role(name, keeps_texts=(path.parent / TEXTS_FILE).exists())
    if is_export and holds == _OF_OTHERS:
        holds, give_away = "part of the export", True
    try:
        is_ngrams = name.as_posix() == NGRAMS_FILE
        texts = _told_by_ngrams(path) if is_ngrams else _texts(path, name)
        found = None if texts is None else tuple(_summed_up(texts, columns))
    except (GlassformerError, OSError, RecursionError):  # damaged, or of another program: it was not searched
        found = None
    shown = os.fsencode(name.as_posix()).decode(errors="backslashreplace")
    return FileAudit(name=shown, holds=holds, give_away=give_away, size_bytes=path.stat().st_size, found=found)


def _role(name: Path, *, keeps_texts: bool) -> tuple[str, bool]:
    """Return what a file holds, and whether it is part of a model that is given away."""
    if name.parts[0] == READERS_FOLDER and len(name.parts) > 2:
        return f"what the reader {name.parts[1]} knows", True
    if len(name.parts) > 1:
        return _FOLDERS_OF_THE_OWNER.get(name.parts[0], _OF_OTHERS), False
    if name.name in _OF_THE_OWNER:
        return _OF_THE_OWNER[name.name], False
    if name.name == REPORT_FILE and keeps_texts:
        return "the report of training, which quotes texts", False
    return _HOLDS.get(name.name, _OF_OTHERS), name.name in _HOLDS


def _summed_up(texts: Iterable[str], columns: Columns) -> Iterator[Found]:
    """Yield each kind of personal data, with the number of different values and some of them, masked."""
    values: dict[str, dict[str, None]] = {}
    for text in texts:
        for match in personal_data(columns.without_limits(text)):
            values.setdefault(match.kind, {})[match.value] = None
        for name in columns.names_in(text):
            values.setdefault(NAME, {})[name] = None
    for kind, of_kind in values.items():
        mask = masked_name if kind == NAME else masked
        yield Found(kind=kind, values=len(of_kind), examples=tuple(map(mask, list(of_kind)[:_EXAMPLES])))


def _told_by_ngrams(path: Path) -> Iterator[str]:
    """Yield the values of columns, and the personal data that overlapping n-grams spell.

    Where an e-mail address is possible, there is no more.
    """
    runs = _word_runs(path)
    yield from (run for run in runs if BEGIN in run)
    for apart, joined in chains([run for run in runs if BEGIN not in run]):
        addresses = [match.value for match in personal_data(joined) if match.kind == "e-mail address"]
        if known := [value for value in addresses if value.rpartition(".")[2] in _ENDINGS]:
            yield from known
        else:
            for spelled in (apart, joined):
                yield from (match.value for match in personal_data(spelled) if match.kind != "e-mail address")


def _texts(path: Path, name: Path) -> Iterable[str] | None:
    """Return the texts in a file, or None if it holds numbers or is too large."""
    if path.suffix not in READABLE or path.stat().st_size > MOST_BYTES:
        return None
    match name.as_posix():
        case "tokenizer.json":
            return (
                token.replace("\u0120", " ").replace("\u2581", " ") for token in TextTokenizer.load(path).vocabulary()
            )
    match path.suffix:
        case ".json" if name.parts[:2] == (READERS_FOLDER, "body"):
            return _words_of_its_own(read_json(path))
        case ".json":
            return _strings(read_json(path))
        case ".jsonl":
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            return (text for line in lines for text in _strings(_parsed(line)))
        case ".html":
            return _of_page(path)
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def _words_of_its_own(described: Any) -> Iterator[str]:
    """Yield the strings of a body reader that do not come from a body which everyone has."""
    body = described.get("body") if isinstance(described, dict) else None
    name = str(body).removesuffix(CONTINUED)  # of older versions
    known = Body.load(SHIPPED / name).index if name in {path.name for path in SHIPPED.iterdir()} else {}
    return (word for word in _strings(described) if word not in known)


def _word_runs(path: Path) -> list[str]:
    document = read_json(path)
    ngrams = document.get("ngrams") if isinstance(document, dict) else None
    runs = ngrams.get("words", []) if isinstance(ngrams, dict) else []
    return [run for run in runs if isinstance(run, str)]


def _strings(value: Any) -> Iterator[str]:
    """Yield the strings of a JSON value, keys included."""
    if isinstance(value, str):
        yield value.encode(errors="replace").decode()  # JSON can spell half of a surrogate pair
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from (*_strings(key), *_strings(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


class _Page(HTMLParser):
    """The texts of a page, and the JSON in it. Code and styles are left out."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self._inside = "json" if dict(attrs).get("type") == "application/json" else "code"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "json":
            self.texts += _strings(_parsed(data))
        elif not self._inside:
            self.texts.append(data)


def _of_page(path: Path) -> list[str]:
    """Return the texts of a page. Comments are searched as texts: the parser leaves them out, and is slow in some."""
    source = path.read_text(encoding="utf-8", errors="replace")
    whole, end, rest = _MARKUP_OF_OTHERS.sub(" ", source).rpartition(">")  # the parser is slow in tags without an end
    page = _Page()
    try:
        page.feed(whole + end)
        page.close()
    except ValueError:  # a character of thousands of digits
        return source.splitlines()
    return [*page.texts, rest]


_MOST_WORDS = 24  # of a chain
_MARKS = {START, END}
_AROUND_MARKS, _AFTER_MARKS = re.compile(r" ?([^\w\s]) ?"), re.compile(r"([@+(]) ")


def chains(ngrams: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Put the n-grams of a counting reader together again. Yield the chains that hold an "@" or a digit.

    The reader keeps runs of at most three words. Two runs overlap by two words: "rossi @ example" and "@ example ."
    give "rossi @ example .". If no other run goes on from these two words, this is how the training texts go on. It
    does not keep spaces, so a chain has two spellings: with few and without spaces around marks.
    """
    runs = [tuple(ngram.split(" ")) for ngram in ngrams]
    longest = [run for run in runs if len(run) == LONGEST_RUN and not _MARKS & set(run)]
    after, before = _links(longest, forwards=True), _links(longest, forwards=False)
    told = set()
    for run in runs:
        if not any("@" in word or any(map(str.isdigit, word)) for word in run):
            continue
        words = [word for word in run if word not in _MARKS]
        if len(words) == LONGEST_RUN:
            words = _extended(words, after)
            words = _extended(words[::-1], before)[::-1]
        chain = " ".join(words)
        if chain not in told:
            told.add(chain)
            yield _AFTER_MARKS.sub(r"\1", chain), _AROUND_MARKS.sub(r"\1", chain)


def _links(runs: Sequence[tuple[str, ...]], *, forwards: bool) -> dict[tuple[str, str], set[str]]:
    """Return two words → the words that may follow them, or backwards the words that may stand before them."""
    links: dict[tuple[str, str], set[str]] = defaultdict(set)
    for run in runs:
        one, two, three = run if forwards else run[::-1]
        links[one, two].add(three)
    return links


def _extended(words: list[str], links: dict[tuple[str, str], set[str]]) -> list[str]:
    """Append words as long as there is one way to go on."""
    words = list(words)
    while len(words) < _MOST_WORDS:
        following = links.get((words[-2], words[-1]), set())
        if len(following) != 1:
            break
        words += following
    return words
