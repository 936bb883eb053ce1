"""Explain the answers to the rows of a table."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

from glassformer.cli.output import doing, insist, print_json, say, show
from glassformer.cli.pace import Pace, size_of_file, size_of_rows
from glassformer.cli.resume import Stopped
from glassformer.cli.rows_to_answer import table_in_batches
from glassformer.cli.unknown import Marked, warn_of_unlike
from glassformer.cli.writers import write_answers
from glassformer.data.stopping import stop_requests
from glassformer.data.wording import counted

if TYPE_CHECKING:
    from glassformer.explanation.explanation import Explanation
    from glassformer.prediction.answering import Answering

_UNLIKE = (
    "row is unlike the training data, so its answer may be wrong",
    "rows are unlike the training data, so their answers may be wrong",
)
_LONG = 100_000  # characters
_ANSWERS = 120  # an explanation of a long text takes about as long as so many answers to it
_ROWS_PER_BATCH = 8  # an explanation takes up to seconds, and the rate is shown after each batch


def explain_file(
    predictor: Answering,
    file: Path,
    out: Path | None,
    text: str | None,
    *,
    method: str | None,
    safe_csv: bool | None,
    json: bool,
) -> None:
    """Explain the answers to a table row by row. If it is stopped, the rows that are done are kept."""
    from glassformer.explanation.explain import explain
    from glassformer.explanation.reasons import reasons_table
    from glassformer.prediction.answer_files import Columns, separator_of

    kind = predictor.trained.config.target.part("explanation")
    frames, texts_of, like = table_in_batches(predictor, file, text, rows=_ROWS_PER_BATCH)
    total = size_of_file(file)
    nested = out is not None and separator_of(out, like) is None
    pace = Pace("rows", total, doing="explaining")
    rows = trusted = empty = 0
    unlike = Marked()
    with (
        stop_requests() as stop,
        write_answers(out, "plain", table=file, like=like, safe=safe_csv) as write,
    ):
        for frame in frames:
            pace.begin(size_of_rows(frame, file) if total else 0)
            done: list[Explanation | None] = []
            for each in texts_of(frame):
                if stop.number is not None:
                    break
                time_of_a_long(predictor, each, f"row {rows + len(done) + 1:,}")
                done.append(explain(predictor, each, method=method) if each.strip() else None)
                pace.on_progress(len(done) / frame.height)
            write(frame.head(len(done)), Columns(reasons_table(kind, done, nested=nested)))
            unlike.add((found and found.unlike_training for found in done), after=rows)
            rows += len(done)
            empty += done.count(None)
            trusted += sum(bool(found and found.trusted) for found in done)
            pace.end(len(done))
            if stop.number is not None:
                break
    if empty:
        say(f"warning: {counted(empty, 'row')} {'has' if empty == 1 else 'have'} an empty text and no explanation")
    warn_of_unlike(unlike, rows, "row")
    if out is not None and json:
        counts = {"rows": rows, "explained": rows - empty, "trusted": trusted}
        print_json(
            {"out": str(out), **counts, "unlike_training": None if predictor.trained.seen is None else unlike.count}
        )
    elif out is not None:
        in_all = rows if stop.number is None else _rows_of(file) or rows
        explained = f"{rows - empty:,} of " if in_all > rows - empty else ""
        show(
            f"{out}: {explained}{counted(in_all, 'row')} explained"
            + f"; {counted(trusted, 'explanation')} can be trusted, whether or not the answers are right"
            + (f"; {counted(unlike.count, *_UNLIKE)}" if unlike.count else "")
        )
    if stop.number is not None:
        insist(f"stopped; the rows that are done are {'kept in ' + str(out) if out else 'printed'}")
        raise Stopped(KeyboardInterrupt(signal.Signals(stop.number)))


def _rows_of(file: Path) -> int | None:
    """Return the rows of a table; None if it can be read only once."""
    from glassformer.data.rows import iterate_rows

    return sum(frame.height for frame in iterate_rows(file, rows_per_batch=65_536)) if file.is_file() else None


def time_of_a_long(predictor: Answering, text: str, where: str) -> str:
    """Say that a long text takes long, and return about how long, as `, about 4 min in all`; or an empty string.

    The text is answered once to measure this.
    """
    if len(text) < _LONG:
        return ""
    doing("measuring")
    began = time.monotonic()
    predictor.answer([text])
    about = f"about {max(1, round(_ANSWERS * (time.monotonic() - began) / 60))} min"
    say(f"note: {where} has {len(text.split()):,} words, so its explanation takes {about}")
    return f", {about} in all"
