"""Look up definitions in an installed WordNet, or in a table of words and definitions.

WordNet (Miller 1995, "WordNet: A Lexical Database for English") is read from its plain database files. Their format is
described in its manual pages wndb(5WN), cntlist(5WN) and morphy(7WN). `index.noun` lists the senses of each noun as
byte offsets into `data.noun`. There each sense has one line with its words and its gloss (definition and examples).
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from glassformer.data.rows import read_batches, with_columns
from glassformer.errors import GlassformerError, UsageError

WORDNET = "wordnet"
WORDNET_FOLDERS = (Path("/usr/share/wordnet"), Path("/usr/local/WordNet-3.0/dict"))  # Debian; WordNet's own installer
_PARTS_OF_SPEECH = {"noun": "1", "verb": "2", "adj": "3", "adv": "4"}  # with their number in sense keys
_SATELLITE = "5"  # satellite adjectives, which are similar to another one; they are in the files of adjectives
_ENDINGS = {
    "noun": (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
             ("ies", "y")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip
_ROWS_PER_BATCH = 4096

Sense = tuple[str, int]
"""A part of speech, and the offset in bytes of the sense's line in its data file."""


class Dictionary(Protocol):
    """Anything that gives the definition of a word."""

    name: str

    def define(self, word: str) -> str | None:
        """Return the definition of a word, or None."""


def open_dictionary(name: str, folder: Path | None = None) -> Dictionary:
    """Open a dictionary.

    Args:
        name: `wordnet`, or the path of a table.
        folder: the folder of WordNet's files; None to look where it is usually installed.

    Raises:
        UsageError: the dictionary does not exist, or the table cannot be read.
    """
    if name != WORDNET:
        if folder is not None:
            raise UsageError(
                f"`dictionary_dir=` names the folder of {WORDNET}, but the dictionary {name} is a table; leave it out"
            )
        if not Path(name).is_file():
            raise UsageError(f"`dictionary={name!r}`: this is neither {WORDNET!r} nor a table that exists")
        return TableDictionary(Path(name))
    if folder is None:
        folder = next((place for place in WORDNET_FOLDERS if (place / "index.noun").is_file()), None)
        if folder is None:
            places = ", ".join(map(str, WORDNET_FOLDERS))
            raise UsageError(
                f"`dictionary={WORDNET!r}`: WordNet is not in {places}. On Debian: apt-get install wordnet-base; "
                "elsewhere name the folder that holds index.noun with `dictionary_dir=`"
            )
    return WordNet(folder)


class TableDictionary:
    """A dictionary from a table with the columns `word` and `definition`.

    Case does not matter. If a word has several definitions, the first counts.
    """

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._definitions: dict[str, str] = {}
        for word, definition in read_definitions(path, defined=True):
            if definition:
                self._definitions.setdefault(word.lower(), definition)

    def define(self, word: str) -> str | None:
        return self._definitions.get(word.lower())


def read_definitions(path: Path, *, defined: bool) -> Iterator[tuple[str, str | None]]:
    """Yield the rows of a table with the columns `word` and `definition`. An empty definition is None.

    Args:
        defined: whether the column `definition` is required.

    Raises:
        UsageError: the table cannot be read, a column is missing, or a word is missing.
    """
    row = 0
    for batch in read_batches(path, rows_per_batch=_ROWS_PER_BATCH):
        for column in ("word", "definition") if defined else ("word",):
            if column not in batch.columns:
                raise UsageError(f"{path} has no column {column!r} (it has: {', '.join(batch.columns)})")
        for word, definition in with_columns(batch, ["word", "definition"]).iter_rows():
            row += 1
            if word is None or not str(word).strip():
                raise UsageError(f"{path}, row {row}: the word is missing")
            yield str(word).strip(), str(definition or "").strip() or None


class WordNet:
    """A dictionary from WordNet's database files in a folder.

    A word has the definition of its most frequent sense. WordNet counted the senses in texts tagged with them.

    Raises:
        UsageError: the folder does not hold the files.
        GlassformerError: a file is damaged. Looking up a word may raise it too.
    """

    name = WORDNET

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data: dict[str, bytes] = {}
        self._senses: dict[str, dict[str, list[int]]] = {}
        self._exceptions: dict[str, dict[str, str]] = {}
        for part in _PARTS_OF_SPEECH:
            for name in (f"index.{part}", f"data.{part}"):
                if not (folder / name).is_file():
                    raise UsageError(
                        f"{folder} does not hold WordNet: {name} is missing. On Debian: apt-get install wordnet-base; "
                        "elsewhere name another folder with `dictionary_dir=`"
                    )
            self._data[part] = (folder / f"data.{part}").read_bytes()
            self._senses[part] = dict(self._index(part))
            exceptions = (line.split() for line in self._lines(f"{part}.exc"))
            self._exceptions[part] = {fields[0]: fields[1] for fields in exceptions if len(fields) > 1}
        self._tagged = self._counts()

    def define(self, word: str) -> str | None:
        """Return the definition of the most frequent sense, or None. An inflected form has that of its base form."""
        ranked = self._ranked(word)
        return self._line(ranked[0])[1] if ranked else None

    def synonyms(self, word: str) -> list[str]:
        """Return the other words of its senses, the most frequent sense first, then those of similar adjectives."""
        ranked = self._ranked(word)
        read = [self._line(sense)[0] for sense in ranked]
        near = [("adj", place) for fields in read for place in _similar(fields)]
        found = [other for fields in [*read, *(self._line(sense)[0] for sense in near)] for other in _words(fields)]
        return [other for other in dict.fromkeys(found) if other != word.lower()]

    def _ranked(self, word: str) -> list[Sense]:
        """Return every sense of a word, the most frequent first."""
        lemma = word.lower().replace(" ", "_")
        found = [lemma] if any(lemma in senses for senses in self._senses.values()) else []
        ranked = []
        for part, senses in self._senses.items():
            for base in found or self._base_forms(lemma, part):
                for number, place in enumerate(senses.get(base, ()), 1):
                    tagged = self._tagged.get((base, part, number), 0)
                    ranked.append((-tagged, number, (part, place)))
        return [sense for *_, sense in sorted(ranked, key=lambda entry: entry[:2])]

    def _base_forms(self, lemma: str, part: str) -> list[str]:
        if lemma in self._exceptions[part]:
            return [self._exceptions[part][lemma]]
        forms = [lemma.removesuffix(end) + other for end, other in _ENDINGS[part] if lemma.endswith(end)]
        return [form for form in forms if form in self._senses[part]][:1]

    def _line(self, sense: Sense) -> tuple[list[str], str]:
        """Return the fields of a sense's line before its bar, and the definition in the gloss after it."""
        part, place = sense
        end = self._data[part].find(b"\n", place)
        fields, bar, gloss = self._data[part][place:end].decode("utf-8", "replace").partition("|")
        if not bar or not fields.startswith(f"{place:08d} "):
            raise GlassformerError(f"{self._folder}: data.{part} does not belong to index.{part}; reinstall WordNet")
        return fields.split(), re.split(r';?\s*"', gloss.strip(), maxsplit=1)[0].strip()

    def _index(self, part: str) -> Iterator[tuple[str, list[int]]]:
        """Yield each lemma and the offsets of its senses.

        The fields of a line: lemma pos synset_cnt p_cnt [ptr_symbol…] sense_cnt tagsense_cnt synset_offset…
        """
        for line in self._lines(f"index.{part}"):
            if line.startswith(" "):  # the licence
                continue
            fields = line.split()
            try:
                yield fields[0], [int(place) for place in fields[6 + int(fields[3]) :]]
            except (IndexError, ValueError) as error:
                raise GlassformerError(
                    f"{self._folder}/index.{part} is damaged: {line[:40]!r}; reinstall WordNet"
                ) from error

    def _counts(self) -> dict[tuple[str, str, int], int]:
        """Return how often each sense was tagged. Without the file cntlist.rev the result is empty.

        The fields of a line: lemma%ss_type:… sense_number tag_cnt
        """
        parts = {number: part for part, number in _PARTS_OF_SPEECH.items()} | {_SATELLITE: "adj"}
        counts = {}
        for line in self._lines("cntlist.rev"):
            try:
                key, number, count = line.split()
                lemma, kind = key.split("%")
                counts[lemma, parts[kind[0]], int(number)] = int(count)
            except (ValueError, LookupError) as error:
                raise GlassformerError(
                    f"{self._folder}/cntlist.rev is damaged: {line[:40]!r}; reinstall WordNet"
                ) from error
        return counts

    def _lines(self, name: str) -> list[str]:
        file = self._folder / name
        return file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []


def _words(fields: list[str]) -> list[str]:
    """Return the words of a sense, without the "(p)" that adjectives may end with.

    Field 4 is the number of words, in hexadecimal. The words are fields 5, 7, …
    """
    return [re.sub(r"\(\w+\)$", "", word).lower() for word in fields[4 : 4 + 2 * int(fields[3], 16) : 2]]


def _similar(fields: list[str]) -> list[int]:
    """Return the offsets of the adjective senses that WordNet calls similar: pointers "& offset pos …"."""
    pointers = fields[5 + 2 * int(fields[3], 16) :]
    return [int(pointers[i + 1]) for i in range(0, len(pointers) - 3, 4) if pointers[i] == "&"]
