"""Put the n-grams of a counting reader together again, as anyone can who has the folder.

The reader keeps runs of at most three words. Two runs overlap by two words: "rossi @ example" and "@ example ." give
"rossi @ example .". If no other run goes on from these two words, this is how the training texts go on.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from glassformer.readers.counting.ngrams import END, LONGEST_RUN, START

_MOST_WORDS = 24  # of a chain
_MARKS = {START, END}
_AROUND_MARKS, _AFTER_MARKS = re.compile(r" ?([^\w\s]) ?"), re.compile(r"([@+(]) ")


def chains(ngrams: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the chains that hold an "@" or a digit, each in two spellings: with few and without spaces around marks.

    The reader does not keep spaces, so both are possible: "thanks @maria" and "maria@example.com".
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
