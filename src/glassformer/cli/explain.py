"""`glassformer explain`: why a model gave an answer."""

from __future__ import annotations

import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.explained import show_explanation
from glassformer.cli.hints import check_order, is_file
from glassformer.cli.options import Device, Json, Quiet, SafeCsv, TextColumn
from glassformer.cli.output import doing, hush, insist, print_json, say, show
from glassformer.cli.pace import Pace, size_of_file, size_of_rows
from glassformer.cli.predict import table_in_batches
from glassformer.cli.resume import Stopped
from glassformer.cli.writers import check_out, check_parent, write_columns
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.explanation.explain import Explanation
    from glassformer.prediction.answering import Answering

_ROWS_PER_BATCH = 8  # an explanation takes up to seconds, and the rate is shown after each batch
_LONG = 100_000  # characters

Method = Annotated[
    str | None,
    typer.Option(
        help="How the transformer is explained: see docs/explain.md. Default: shapley, or integrated-gradients for "
        "texts of more than 32 words."
    ),
]
Nearest = Annotated[
    bool,
    typer.Option(
        "--nearest", help="Show the training texts that are nearest to the text. Needs a model of train --keep-texts."
    ),
]


def explain(
    model: Annotated[Path, typer.Argument(help="A model folder.")],
    given: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The text. - reads it from standard input.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Explain the answers to a table of texts, a row for each.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The file for the rows of --file: .csv, .tsv or .jsonl, each also with .gz. Default: CSV."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file in --out.")] = False,
    text: TextColumn = None,
    safe_csv: SafeCsv = False,
    label: Annotated[str | None, typer.Option(help="Explain this label. Default: the most probable one.")] = None,
    method: Method = None,
    counterfactual: Annotated[
        bool, typer.Option("--counterfactual", help="Search for a small change of words that turns the answer.")
    ] = False,
    heads: Annotated[
        bool, typer.Option("--heads", help="Show what each attention head adds to the answer, and where it looks.")
    ] = False,
    neighbours: Annotated[
        bool, typer.Option("--neighbours", help="Show the nearest words, in the embeddings, of the strongest words.")
    ] = False,
    nearest: Nearest = False,
    html: Annotated[Path | None, typer.Option(help="Also write a page with the explanation to this file.")] = None,
    device: Device = "auto",
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Show what each word adds to an answer, by counting and by the transformer."""
    if quiet:
        hush()
    if given is not None:
        check_order(model, given, option="--file ")
    of_a_text = {
        "label": label, "counterfactual": counterfactual, "heads": heads, "neighbours": neighbours, "nearest": nearest,
        "html": html,
    }  # fmt: skip
    of_a_file = {"out": out, "text": text, "overwrite": overwrite, "safe-csv": safe_csv}
    _check(given, file, of_a_text, of_a_file, json=json)
    check_parent("--html", html)
    from glassformer.prediction.load_answering import load_answering

    predictor = load_answering(model, device=device)
    asked = [name for name, value in {"method": method, "heads": heads, "neighbours": neighbours}.items() if value]
    if asked and predictor.trained.config.answers_by_counting:
        say(f"note: the model answers by counting alone, so --{asked[0]} has nothing to show")
    if file is not None:
        _explain_file(predictor, file, out, text, method, safe_csv=safe_csv, json=json)
        return
    given = _from_standard_input() if given == "-" else given or ""
    _explain_text(
        predictor, given, html, json=json, label=label, method=method, counterfactual=counterfactual, heads=heads,
        neighbours=neighbours, nearest=nearest,
    )  # fmt: skip


def _explain_text(predictor: Answering, given: str, html: Path | None, *, json: bool, **asked: Any) -> None:
    """Print the explanation of a text, and write its page.

    Args:
        asked: the options of the library's `explain`.
    """
    from glassformer.explanation.explain import explain as explain_text
    from glassformer.explanation.page import write_explanation

    if is_file(given):
        say(f"note: {given} is a file, but it was read as a text; --file {given} explains the rows of the file")
    _warn_of_length(given, "the text")
    doing("explaining")
    found = explain_text(predictor, given, **asked)
    if html is not None:
        write_explanation(html, found)
        say(f"page: {html}")
    seen = predictor.trained.seen
    if seen is not None and seen.is_unlike(seen.unseen_shares([given]))[0]:
        say("warning: the text is unlike the training data; its answer means little")
    if json:
        print_json(found.as_json())
    else:
        show_explanation(found)


def _warn_of_length(text: str, where: str) -> None:
    if len(text) >= _LONG:
        say(f"note: {where} has {len(text):,} characters, so its explanation can take minutes")


def _from_standard_input() -> str:
    from glassformer.data.lines import lines_of

    return "\n".join(lines_of(sys.stdin.buffer, "standard input"))


def _check(
    given: str | None, file: Path | None, of_a_text: Mapping[str, Any], of_a_file: Mapping[str, Any], *, json: bool
) -> None:
    """Refuse options that do not go together, before a model is loaded.

    Args:
        of_a_text: the options that go with a text only, by their names.
        of_a_file: those that go with a table only.
    """
    if (given is None) == (file is None):
        raise UsageError("give a text or --file TABLE" + (", not both" if file else ""))
    for name in (name for name, value in (of_a_file if file is None else of_a_text).items() if value):
        if file is None:
            raise UsageError(f"--{name} goes with --file; the explanation of a text is printed")
        raise UsageError(f"--{name} goes with a text, not with --file; leave it out")
    out, overwrite = of_a_file["out"], of_a_file["overwrite"]
    if out is not None:
        check_out(out, file, overwrite=overwrite)
    elif file is not None and (overwrite or json):
        raise UsageError(f"--{'overwrite' if overwrite else 'json'} goes with --out; leave it out")
    if of_a_file["safe-csv"] and out is not None and "json" in out.name:
        raise UsageError("--safe-csv is for reasons as CSV or TSV; leave it out")


def _explain_file(
    predictor: Answering,
    file: Path,
    out: Path | None,
    text: str | None,
    method: str | None,
    *,
    safe_csv: bool,
    json: bool,
) -> None:
    """Explain the answers to a table row by row. If it is stopped, the rows that are done are kept."""
    from glassformer.data.wording import counted
    from glassformer.explanation.explain import explain as explain_text
    from glassformer.explanation.reasons import REASON_COLUMNS, reasons_table
    from glassformer.prediction.answered_rows import texts_of
    from glassformer.training.stopping import stop_requests

    frames, column, like = table_in_batches(predictor, file, text, rows=_ROWS_PER_BATCH)
    total = size_of_file(file)
    pace = Pace("rows", total, doing="explaining")
    rows = trusted = empty = 0
    with (
        stop_requests() as stop,
        write_columns(out, added=REASON_COLUMNS, source=str(file), like=like, safe=safe_csv) as write,
    ):
        for frame in frames:
            pace.begin(size_of_rows(frame, file) if total else 0)
            done: list[Explanation | None] = []
            for each in texts_of(frame, column):
                if stop.number is not None:
                    break
                _warn_of_length(each, f"row {rows + len(done) + 1:,}")
                done.append(explain_text(predictor, each, method=method) if each.strip() else None)
                pace.on_progress(len(done) / frame.height)
            write(frame.head(len(done)), reasons_table(done))
            rows += len(done)
            empty += done.count(None)
            trusted += sum(bool(found and found.trusted) for found in done)
            pace.end(len(done))
            if stop.number is not None:
                break
    if empty:
        say(f"warning: {counted(empty, 'row')} {'has' if empty == 1 else 'have'} an empty text and no explanation")
    if out is not None and json:
        print_json({"out": str(out), "rows": rows, "explained": rows - empty, "trusted": trusted})
    elif out is not None:
        explained = f"{rows - empty:,} of " if empty else ""
        show(f"{out}: {explained}{counted(rows, 'row')} explained; the shares of {trusted:,} can be trusted")
    if stop.number is not None:
        insist(f"stopped; the rows that are done are {'kept in ' + str(out) if out else 'printed'}")
        raise Stopped(KeyboardInterrupt(signal.Signals(stop.number)))
