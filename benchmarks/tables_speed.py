"""The tables on speed, from training-speed-DATA-PRESET, literal-speed and answering-speed (.json)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown, short


def training_tables(found: Document) -> Iterator[str]:
    """Return how fast each contestant trains, and how good it is after each epoch. A plot has the seconds."""
    heads = (
        "", "parameters", "threads", "texts per second", "glassformer is faster by", "validation accuracy by epoch"
    )  # fmt: skip
    rows = [
        (
            each["name"],
            f"{each['parameters']:,}",
            str(each.get("threads", found["machine"]["threads"])),  # earlier results have one number for all
            f"{median(each['texts_per_second']):,.0f}",
            _ratio(each["ours_is_faster_by"]),
            ", ".join(f"{accuracy:.3f}" for accuracy in each["accuracy_by_epoch"]),
        )
        for each in found["contestants"]
    ]
    yield f"`{found['data']}`, preset `{found['preset']}`, {found['rows']:,} training rows, {found['epochs']} epochs."
    yield markdown([heads, *rows])


def literal_tables(found: Document) -> Iterator[str]:
    """Return how fast each variant of a published system trains, and how good it is after the same seconds."""
    for each in found["systems"]:
        heads = (
            "", "parameters", "batch", "steps", "texts per second", "our default is faster by", "validation accuracy",
        )  # fmt: skip
        rows = [
            (
                {"default": "our default"}.get(variant["variant"], f"`{each['system']}`, {variant['variant']}"),
                f"{variant['parameters']:,}",
                f"{variant['batch_size']}",
                f"{variant['steps']:,.0f}",
                f"{median(variant['texts_per_second']):,.0f}",
                _ratio(variant["ours_is_faster_by"]),
                short(median(variant["accuracy"])),
            )
            for variant in each["variants"]
        ]
        yield (
            f"`{each['data']}`, {each['rows']:,} training rows, {each['seconds']:g} seconds of training each, "
            f"validated on the same {each['held_out_rows']:,} rows:"
        )
        yield markdown([heads, *rows])
    yield f"Medians and ranges of {found['rounds']} rounds."


def _ratio(found: dict[str, float]) -> str:
    return f"{found['median']:.2f} × ({found['lowest']:.2f}–{found['highest']:.2f})"


def answering_tables(found: Document) -> Iterator[str]:
    """Return the latency, the speed and the memory of each contestant, for each kind of texts. A plot has the size."""
    heads = ("", "one text, p50", "p99", "texts per second", "speed ÷ pipeline", "peak memory")
    for kind in kinds_of_texts(found):
        contestants = {each["name"]: each[kind] for each in found["contestants"]}
        shown = {name: figures for name, figures in contestants.items() if "texts" in figures}
        pipeline = next(figures for name, figures in shown.items() if name.startswith("transformers pipeline"))
        yield f"{pipeline['texts']:,.0f} held-out {kind}:"
        yield markdown(
            [heads, *((_row(name, figures), *_figures(figures, pipeline)) for name, figures in shown.items())]
        )
        yield from (sentence for name, figures in contestants.items() for sentence in _sentences(name, figures))
    yield markdown(
        [
            ("command", "median", "slowest"),
            *(
                (f"`predict`, {name}", f"{seconds['median']:.2f} s", f"{seconds['slowest']:.2f} s")
                for name, seconds in found["first_answer"].items()
            ),
        ]
    )


def kinds_of_texts(found: Document) -> list[str]:
    return [key for key in found["contestants"][0] if key != "name"]


def _row(name: str, found: dict[str, Any]) -> str:
    """Return the name of a contestant. Training may have chosen otherwise, so that its weight was set by hand."""
    return f"{name} (weights set by hand)" if found.get("weight_by_hand") else name


def _figures(found: dict[str, Any], pipeline: dict[str, Any]) -> list[str]:
    return [
        f"{found['p50_ms']:.2f} ms",
        f"{found['p99_ms']:.2f} ms",
        f"{found['texts_per_second']:,.0f}",
        f"{found['texts_per_second'] / pipeline['texts_per_second']:.1f}",
        f"{found['peak_memory_bytes'] / 1e6:,.0f} MB",
    ]


def _sentences(name: str, found: dict[str, Any]) -> Iterator[str]:
    """Say what training chose, and how an export in int8 passed its check."""
    if "training_chose" in found:
        by_hand = found["weight_by_hand"]
        set_so = f"; for this table, the weight of the transformer was set to {by_hand:g}" if by_hand else ""
        yield f"{name}: training chose {found['training_chose']}{set_so}."
    if "refused" in found:
        yield f"{name}: the export was refused. {found['refused'][0].upper()}{found['refused'][1:]}."
    if "checked" in found:
        checked = found["checked"]
        yield (
            f"{name}: {checked['same_labels']:.1%} of {checked['rows']:,} validation rows get the same labels as from "
            f"the model; macro F1 {checked['macro_f1']:.3f} before, {checked['macro_f1_exported']:.3f} after."
        )


def wall_time_tables(found: Document) -> Iterator[str]:
    """Yield the seconds of each contestant, and how many times as long as the baseline it takes, by rows."""
    lines = found["lines"]
    heads = [f"{line['rows']:,} rows" for line in lines]
    yield markdown(
        [["from the command to the model", *heads], *(_waits(name, lines) for name in lines[0]["contestants"])]
    )
    yield (
        "How many times as long as TF-IDF + LR in the same round, in turn; medians. The load average was "
        f"{found['load_average_at_end']:.1f} at the end."
    )


def _waits(name: str, lines: Sequence[Document]) -> list[str]:
    told = [line["contestants"][name] for line in lines]
    return [
        name,
        *(
            f"{each['times_tfidf']['median']:.1f} × ({median(each['seconds']):.1f} s; "
            f"{median(each['processor_seconds']):.1f} s of a core)"
            for each in told
        ),
    ]
