"""The tables on few labels, from few-labels, few-unequal, encoder, unlabelled and readers-alone.json."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.encoder import WITH_BODY, WITH_ENCODER
from benchmarks.few_labels import COUNTING, OURS, TFIDF, WITH_PIECES
from benchmarks.tables_common import Document
from glassformer.experiments.published.table import markdown, short


def few_tables(found: Document) -> Iterator[str]:
    """Yield a table of accuracies, the mean gains, and how they were measured."""
    lines = found["lines"]
    counted = "per_class" if "per_class" in lines[0] else "rows"
    rows = [_accuracies(line, line[counted]) for line in lines]
    yield markdown([("table", "rows", *lines[0]["contestants"]), *rows])
    sizes = sorted({line[counted] for line in lines})
    yield markdown(
        [
            (f"mean gain of {OURS} over", *(f"{size} rows" for size in sizes)),
            *(
                (other, *(short(_mean_gain(lines, other, counted, size)) for size in sizes))
                for other in lines[0]["over"]
            ),
        ]
    )
    better, worse = (sum(_sign(line["over"][WITH_PIECES]) == sign for line in lines) for sign in (" ↑", " ↓"))
    draws = len(lines[0]["contestants"][TFIDF]["of_draws"])
    of = " of each class" if counted == "per_class" else ""
    yield (
        f"Accuracy on the official test rows; means over {draws} draws of so many rows{of}. {OURS} is "
        f"significantly better than TF-IDF on words and pieces of words on {better} of {len(lines)} lines (↑), and "
        f"worse on {worse} (↓): 95% intervals over the test rows."
    )


def _mean_gain(lines: list[Document], other: str, counted: str, size: int) -> float:
    return float(np.mean([line["over"][other]["value"] for line in lines if line[counted] == size]))


def _accuracies(line: Document, rows: int) -> tuple[str, ...]:
    accuracies = {name: each["accuracy"]["value"] for name, each in line["contestants"].items()}
    best = max(accuracies.values())
    shown = [f"**{short(value)}**" if value == best else short(value) for value in accuracies.values()]
    return (f"`{line['table']}`", str(rows), *shown[:-1], shown[-1] + _sign(line["over"][WITH_PIECES]))


def _sign(difference: Document) -> str:
    return " ↑" if difference["low"] > 0 else " ↓" if difference["high"] < 0 else ""


def encoder_tables(found: Document) -> Iterator[str]:
    """Yield a table of accuracies with an encoder and without, and how they were measured."""
    lines = found["lines"]
    names = list(dict.fromkeys(name for line in lines for name in line["contestants"]))
    rows = []
    for line in lines:
        values = {name: each["accuracy"]["value"] for name, each in line["contestants"].items()}
        shown = {name: f"**{short(of)}**" if of == max(values.values()) else short(of) for name, of in values.items()}
        shown[WITH_ENCODER] += _sign(line["over"][WITH_BODY])
        rows.append((f"`{line['table']}`", str(line["per_class"]), *(shown.get(name, "") for name in names)))
    yield markdown([("table", "rows", *names), *rows])
    yield (
        f"The encoder is {lines[0]['encoder']}. ↑: {WITH_ENCODER} is significantly better than {WITH_BODY}, ↓: worse. "
        "The rest is as above."
    )


def alone_tables(found: Document) -> Iterator[str]:
    """Yield the accuracy of each reader alone and together, and by how much the best alone is better or worse."""
    lines = found["lines"]
    bodies, others = list(lines[0]["best_alone"]), [name for name in lines[0]["contestants"] if name != COUNTING]
    rows, losses = [], []
    for line in lines:
        values = {name: each["accuracy"]["value"] for name, each in line["contestants"].items()}
        gains = [values[f"{COUNTING} and {body}"] - values[line["best_alone"][body]] for body in bodies]
        losses.append(-min(gains))
        shown = [("−" if gain < 0 else "+") + short(abs(gain)) for gain in gains]
        rows.append((f"`{line['table']}`", *(short(values[name]) for name in [COUNTING, *others]), ", ".join(shown)))
    yield markdown([("table", COUNTING, *others, f"together over the best alone: {', '.join(bodies)}"), *rows])
    draws = len(lines[0]["contestants"][COUNTING]["of_draws"])
    yield (
        f"Means over {draws} draws of {lines[0]['per_class']} rows of each class. The largest loss against the best "
        f"reader alone is {short(max(losses))}."
    )


def unlabelled_tables(found: Document) -> Iterator[str]:
    """Yield a table of accuracies without and with unlabelled texts, and how they were measured."""
    lines = found["lines"]
    cells: dict[str, dict[int, str]] = {}
    for line in lines:
        without, with_texts = [short(each["accuracy"]["value"]) for each in line["contestants"].values()][-2:]
        shown = f"{without} → {with_texts}{_sign(line['over_without'])}"
        cells.setdefault(line["table"], {})[line["per_class"]] = shown
    sizes = sorted({line["per_class"] for line in lines})
    texts = {line["table"]: line["unlabelled_texts"] for line in reversed(lines)}
    yield markdown(
        [
            (
                "table",
                "unlabelled texts",
                *(f"{size} rows of each class" if size == sizes[0] else str(size) for size in sizes),
            ),
            *(
                (f"`{table}`", f"{texts[table]:,}", *(row.get(size, "") for size in sizes))
                for table, row in cells.items()
            ),
        ]
    )
    better, worse = (sum(_sign(line["over_without"]) == sign for line in lines) for sign in (" ↑", " ↓"))
    yield (
        f"Official test rows, means over three draws. {better} of {len(lines)} are significantly better (↑), and "
        f"{worse} worse (↓): 95% intervals over the test rows."
    )
