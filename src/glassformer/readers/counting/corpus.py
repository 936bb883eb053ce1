"""Count the n-grams of many texts, to fit a reader. `ngrams.py` says what they are, by the n-grams of one text.

A table of a million texts has more than ten million n-grams, and most of them occur once. As strings they would take
gigabytes. So words are numbered, n-grams are numbers too, and only those that are kept get a name.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import sparse

from glassformer.data.arrays import Array, Gathered, gathered
from glassformer.readers.counting.matrices import joined_rows
from glassformer.readers.counting.ngrams import END, LONGEST_RUN, START, Family, field_of, pieces_of, words_of

_WORDS_AT_ONCE = 200_000
_MARKS = 2  # the start and the end of a text


@dataclass(frozen=True, kw_only=True, eq=False)
class NgramCounts:
    """How often n-grams of one family occur in texts.

    Attributes:
        matrix: (texts, n-grams), in the order in which n-grams first occur.
        sizes: the bytes of each n-gram: (n-grams,).
        named: returns some n-grams, given their columns. As strings, all of them would take a hundred bytes each.
    """

    family: Family
    matrix: sparse.csr_matrix
    sizes: Array
    named: Callable[[Array], list[str]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Corpus:
    """Texts as numbers of words.

    Attributes:
        names: the words, in the order in which they first occur.
        numbers: the words of all texts, one text after another, as places in `names`.
        ends: (texts + 1,) text i has the words `numbers[ends[i]:ends[i + 1]]`.
        characters: the length of all texts.
        fields: (words,) the `field_of` of each word. None if it is 0 for all of them.
    """

    names: list[str]
    numbers: Array
    ends: Array
    characters: int
    fields: Array | None = None

    @classmethod
    def of(cls, texts: Iterable[str]) -> Corpus:
        index: defaultdict[str, int] = defaultdict()
        index.default_factory = index.__len__
        found, numbers, before, characters = Gathered(), array("i"), 0, 0
        found_ends, ends = Gathered(), array("q", [0])
        for text in texts:
            numbers.extend(map(index.__getitem__, words_of(text)))
            ends.append(before + len(numbers))
            characters += len(text)
            if len(numbers) > _WORDS_AT_ONCE:
                found.add(np.frombuffer(numbers, np.int32))
                found_ends.add(np.frombuffer(ends, np.int64))
                before, numbers, ends = ends[-1], array("i"), array("q")
        found.add(np.frombuffer(numbers, np.int32))
        found_ends.add(np.frombuffer(ends, np.int64))
        fields = np.fromiter(map(field_of, index), np.int64, len(index))
        return cls(
            names=list(index),
            numbers=found.whole(),
            ends=found_ends.whole(),
            characters=characters,
            fields=fields if fields.any() else None,
        )

    def __len__(self) -> int:
        return len(self.ends) - 1

    def count(self, family: Family, fewest: int, *, step: int = 1) -> NgramCounts:
        """Count the n-grams that occur in at least `fewest` of every `step`-th text, in all texts."""
        return _count_runs(self, fewest, step) if family == "words" else _count_pieces(self, fewest, step)

    def parts(self, step: int = 1) -> Iterator[Corpus]:
        """Yield every `step`-th text, some thousand texts at a time."""
        starts, stops = self.ends[:-1][::step], self.ends[1:][::step]
        so_far = stops if step == 1 else np.cumsum(stops - starts)
        cuts = np.searchsorted(so_far, np.arange(_WORDS_AT_ONCE, so_far[-1:].sum() + 1, _WORDS_AT_ONCE))
        for first, last in pairwise(np.unique([0, *cuts, len(starts)]) if len(starts) else [0, 0]):
            lengths = stops[first:last] - starts[first:last]
            ends = np.concatenate([[0], np.cumsum(lengths)])
            places = np.repeat(starts[first:last] - ends[:-1], lengths) + np.arange(ends[-1])
            yield Corpus(names=self.names, numbers=self.numbers[places], ends=ends, characters=0, fields=self.fields)


def distinct(values: Array) -> Array:
    """Return the distinct values in ascending order. `values` is sorted in place.

    `numpy.unique` takes ten times as long for millions of values, because it puts them into a hash table.
    """
    values.sort()
    return values[np.append(True, values[1:] != values[:-1])] if len(values) else values


# Runs of words. A run that occurs often begins with a shorter run that occurs as often, so each length looks only at
# what the shorter one has left. The code of a run is the place of that shorter run in its list, times the number of
# words, plus its last word.


def _count_runs(corpus: Corpus, fewest: int, step: int) -> NgramCounts:
    vocabulary = len(corpus.names) + _MARKS
    codes: list[Array] = []  # for each length, in ascending order
    for _ in range(LONGEST_RUN):
        met = gathered(_longer(part, codes, vocabulary)[0] for part in corpus.parts(step))
        codes.append(_frequent(met, fewest))
        del met
    total = sum(map(len, codes))
    texts_with, first, begun = np.zeros(total, np.int64), np.full(total, -1), 0
    for part in corpus.parts(step):
        rows, runs = _runs_in(part, codes, vocabulary)
        texts_with += np.bincount(distinct(rows * total + runs) % max(1, total), minlength=total)
        in_order = runs[np.argsort(rows, kind="stable")]  # in each text, all words come before all longer runs
        met_here, places = np.unique(in_order, return_index=True)
        new = first[met_here] < 0
        first[met_here[new]] = begun + places[new]
        begun += len(runs)
    kept = np.flatnonzero(texts_with >= fewest)
    kept = kept[np.argsort(first[kept])]
    column = np.full(total, -1)
    column[kept] = np.arange(len(kept))
    parts = (_columns_in(part, codes, vocabulary, column, len(kept)) for part in corpus.parts())
    matrix = joined_rows(parts)
    words, spelled = _words_of_runs(kept, codes, vocabulary), [START, END, *corpus.names]
    sizes = np.append(_sizes(spelled), -1) + 1  # with a space; the last is that of no word

    def named(columns: Array) -> list[str]:
        return [" ".join(spelled[word] for word in run if word >= 0) for run in words[columns].tolist()]

    return NgramCounts(family="words", matrix=matrix, sizes=sizes[words].sum(axis=1) - 1, named=named)


def _columns_in(part: Corpus, codes: list[Array], vocabulary: int, column: Array, columns: int) -> sparse.csr_matrix:
    """Return the counts (texts, columns) of the runs that have a column."""
    rows, runs = _runs_in(part, codes, vocabulary)
    known = column[runs] >= 0
    cells, counts = np.unique(rows[known] * columns + column[runs[known]], return_counts=True)
    ends = np.searchsorted(cells, np.arange(len(part) + 1) * columns)
    in_row = (cells % max(1, columns)).astype(np.int32)
    return sparse.csr_matrix((counts.astype(np.float32), in_row, ends), shape=(len(part), columns))


def _longer(part: Corpus, codes: list[Array], vocabulary: int) -> tuple[Array, list[tuple[Array, Array]]]:
    """Return the codes of the runs that are one word longer than those in `codes`, and the runs in `codes`.

    For each length, the latter are the rows of the runs and their places in the list.
    """
    words, texts, rows = marked(part)
    found: list[tuple[Array, Array]] = []
    longer = words
    for length, known in enumerate(codes, start=1):
        places = _places(known, longer)
        found.append((rows[: len(places)], places))
        last = words[length:]
        begins = slice(0, len(last))
        inside = (texts[begins] == texts[length:]) & (places[begins] >= 0)
        longer = np.where(inside, places[begins] * vocabulary + last, -1)
    return longer[longer >= 0], found


def _runs_in(part: Corpus, codes: list[Array], vocabulary: int) -> tuple[Array, Array]:
    """Return the row and the number of each known run: shorter runs first, otherwise in the order of the texts.

    Numbers go on from one length to the next. The marks alone are not runs.
    """
    _, found = _longer(part, codes, vocabulary)
    rows, runs, before = [], [], 0
    for known, (row, place) in zip(codes, found, strict=True):
        is_run = place >= (np.searchsorted(known, _MARKS) if before == 0 else 0)
        rows.append(row[is_run])
        runs.append(place[is_run] + before)
        before += len(known)
    return np.concatenate(rows), np.concatenate(runs)


def marked(part: Corpus) -> tuple[Array, Array, Array]:
    """Return the words of all texts with the marks of their starts (0) and ends (1), the text of each, and its row.

    The number of a word is its place in `names` + 2. A text without words has no marks. A row has several texts if it
    has several inputs. The value of a column is a text of its own then, without marks.
    """
    starts, lengths, rows, is_text = _texts_in(part)
    sizes = lengths + _MARKS * is_text
    ends = np.cumsum(sizes)
    words, inner = np.empty(int(sizes.sum()), np.int64), np.ones(int(sizes.sum()), bool)
    for mark, places in enumerate((ends - sizes, ends - 1)):
        words[places[is_text]], inner[places[is_text]] = mark, False
    words[inner] = part.numbers + np.int64(_MARKS)
    return words, np.repeat(np.arange(len(starts)), sizes), np.repeat(rows, sizes)


def _texts_in(part: Corpus) -> tuple[Array, Array, Array, Array]:
    """Return for each text with words its first word, its length, its row, and whether it is no value of a column."""
    lengths = np.diff(part.ends)
    rows = np.repeat(np.arange(len(part)), lengths)  # of each word
    begins = np.append(True, rows[1:] != rows[:-1])[: len(rows)]
    of_words = np.zeros(len(rows), np.int64) if part.fields is None else part.fields[part.numbers]
    if part.fields is not None:
        begins[1:] |= (of_words[1:] != of_words[:-1]) | (of_words[1:] < 0)
    starts = np.flatnonzero(begins)
    return starts, np.diff(starts, append=len(rows)), rows[starts], of_words[starts] >= 0


def _places(known: Array, codes: Array) -> Array:
    """Return the places of codes in an ascending list; -1 for those that are not in it."""
    if not len(known):
        return np.full(len(codes), -1)
    places = np.searchsorted(known, codes)
    places[places == len(known)] = 0
    return np.where(known[places] == codes, places, -1)


def _frequent(codes: Array, fewest: int) -> Array:
    """Return the codes that occur at least so often, in ascending order. `codes` is sorted in place."""
    codes.sort()
    begins = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[: len(codes)])
    return codes[begins[np.diff(begins, append=len(codes)) >= fewest]]


def _words_of_runs(kept: Array, codes: list[Array], vocabulary: int) -> Array:
    """Return the words of the runs with these numbers, (runs, `LONGEST_RUN`); -1 after the last one."""
    words, before = np.full((len(kept), LONGEST_RUN), -1, np.int32), 0
    for length, known in enumerate(codes, start=1):
        chosen = np.flatnonzero((kept >= before) & (kept < before + len(known)))
        run = known[kept[chosen] - before]
        for place in range(length - 1, 0, -1):
            shorter, words[chosen, place] = np.divmod(run, vocabulary)
            run = codes[place - 1][shorter]
        words[chosen, 0] = run
        before += len(known)
    return words


# Pieces of words. All texts share them by their words: counts of words, times the pieces of each word.


def _count_pieces(corpus: Corpus, fewest: int, step: int) -> NgramCounts:
    numbers = np.concatenate([part.numbers for part in corpus.parts(step)])
    learned, first = np.unique(numbers, return_index=True)
    index: dict[str, int] = {}
    for word in learned[np.argsort(first)].tolist():
        for piece in pieces_of(corpus.names[word]):
            index.setdefault(piece, len(index))
    pieces, ends = array("i"), array("q", [0])
    for name in corpus.names:
        pieces.extend(index[piece] for piece in pieces_of(name) if piece in index)
        ends.append(len(pieces))
    ones = np.ones(len(pieces), np.float32)
    of_words = sparse.csr_matrix((ones, np.array(pieces, np.int32), np.array(ends)), (len(corpus.names), len(index)))
    texts_with = np.zeros(len(index), np.int64)
    for part in corpus.parts(step):
        texts_with += np.bincount((_word_counts(part) @ of_words).indices, minlength=len(index))
    kept = np.flatnonzero(texts_with >= fewest)
    of_words = of_words[:, kept]
    parts = ((_word_counts(part) @ of_words).sorted_indices() for part in corpus.parts())
    matrix = joined_rows(parts)
    ngrams = np.array(list(index), dtype=object)[kept]
    return NgramCounts(
        family="characters", matrix=matrix, sizes=_sizes(ngrams), named=lambda columns: list(ngrams[columns])
    )


def _sizes(strings: Sequence[str] | Array) -> Array:
    """Return the bytes of each string."""
    return np.fromiter((len(string.encode()) for string in strings), np.int32, len(strings))


def _word_counts(part: Corpus) -> sparse.csr_matrix:
    ones = np.ones(len(part.numbers), np.float32)
    return sparse.csr_matrix((ones, part.numbers, part.ends), (len(part), len(part.names)))
