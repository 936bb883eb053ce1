"""The tables of docs/how-it-works/scale.md, from benchmarks/results/rows.json."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown

_IN_WORDS = {
    "import": "starting Python",
    "read": "reading the table",
    "split": "splitting the rows",
    "vocabulary": "learning the vocabulary",
    "encode": "encoding the texts",
    "counting": "fitting the counting reader",
    "unlike": "words seen in training (for the notes on unlike texts)",
}


SHOWN = 2  # numbers of rows: the largest ones


def rows_tables(found: Document) -> Iterator[str]:
    """Return the seconds and the memory of each phase, for each number of rows."""
    lines = found["lines"][-SHOWN:]
    phases = [{phase["phase"]: phase for phase in line["phases"]} for line in lines]
    heads = [f"{line['rows']:,} rows" for line in lines]
    together = [sum(each[name]["core_seconds"] for name in _IN_WORDS if name != "import") for each in phases]
    nothing = ["–"] * len(lines)
    sizes = [f"{line['texts_mb'] / 1.048576:.0f}" for line in lines]
    yield "Seconds of a core, and the peak of memory in MiB, without that of mapped files, which the system may drop:"
    yield markdown(
        [
            ["phase", *(f"{head}, s" for head in heads), *(f"{head}, MiB" for head in heads)],
            ["the texts themselves", *nothing, *sizes],
            *([words, *_seconds(phases, name), *_peaks(phases, name)] for name, words in _IN_WORDS.items()),
            ["steps of training", *nothing, *_peaks(phases, "steps")],
            ["all but the start", *(f"{seconds:.1f}" for seconds in together), *nothing],
            [
                "rows per second",
                *(f"{line['rows'] / of:,.0f}" for line, of in zip(lines, together, strict=True)),
                *nothing,
            ],
        ]
    )
    yield _in_words(found)


def _seconds(of_lines: Sequence[dict[str, Document]], name: str) -> list[str]:
    return [f"{phases[name]['core_seconds']:.1f}" for phases in of_lines]


def _peaks(of_lines: Sequence[dict[str, Document]], name: str) -> list[str]:
    return [f"{phases[name]['anonymous_mib']:,}" for phases in of_lines]


def _in_words(found: Document) -> str:
    groups, machine, largest = found["groups"], found["machine"], found["lines"][-1]
    seconds = sum(phase["seconds"] for phase in largest["phases"] if phase["phase"] in _IN_WORDS)
    steps = largest["phases"][-1]["steps_per_second"]
    return (
        f"The texts are generated. A text has {found['table']['mean_words']:.0f} words on average; all texts together "
        f"have {found['table']['distinct_words']:,} distinct words. A split by {groups['groups']:,} groups with "
        f"{groups['rows']:,} rows took {groups['core_seconds']:.1f} seconds of a core ({groups['seconds']:.1f} in "
        f"all). "
        f"{machine['processor']}, {machine['cores']} cores that other work shared (load "
        f"{found['load_average_at_end']:.1f} at the end): the largest table took {seconds:.0f} seconds in all until "
        f"the first step, and then {steps:.1f} steps per second."
    )


def million_rows_tables(found: Document) -> Iterator[str]:
    """Yield what training on a table in a bucket and answering it took."""
    trained, answered = (
        f"{way['seconds']:.0f} s and at most {way['peak_mib']:,} MiB"
        for way in (found["ways"]["trained"], found["ways"]["answered"])
    )
    yield (
        f"A Parquet file of {found['rows']:,} rows ({found['texts_mib']:.0f} MiB of texts) from an S3 server on the "
        f"same machine: `train`, by counting alone, took {trained}; `predict`, {answered}. Mapped files count."
    )
