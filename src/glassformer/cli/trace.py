"""`glassformer trace`: every matrix between a text and its answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.hints import check_order
from glassformer.cli.options import Asking, Model
from glassformer.cli.output import doing, print_json, print_table, say, show
from glassformer.cli.rows_to_answer import given_rows
from glassformer.cli.writers import check_new
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.tracing.trace import Trace

_FEW = 4  # numbers that stand in the list


def trace(
    model: Model,
    text: Annotated[str, typer.Argument(help="The text.")],
    html: Annotated[Path | None, typer.Option(help="Write a page that shows where each number comes from.")] = None,
    exercise: Annotated[
        bool, typer.Option("--exercise", help="Leave some numbers of the page blank; it checks what you fill in.")
    ] = False,
    npz: Annotated[Path | None, typer.Option(help="Write all matrices to this file of NumPy arrays.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the files in --html and --npz.")] = False,
    list_: Annotated[bool, typer.Option("--list", help="List every matrix, with its numbers if they are few.")] = False,
    *,
    run: Asking,
) -> None:
    """Show every matrix that the model computes from a text to its answer."""
    check_order(model, text)
    if exercise and html is None:
        raise UsageError("--exercise leaves numbers of a page blank; name its file with --html")
    if overwrite and html is None and npz is None:
        raise UsageError("--overwrite goes with --html or --npz; leave it out")
    if list_ and run.json:
        raise UsageError("--json prints what --list shows and all numbers; leave one of them out")
    check_new("--html", html, overwrite=overwrite)
    check_new("--npz", npz, overwrite=overwrite)
    from glassformer.prediction.predictor import Predictor
    from glassformer.tracing.exercise import choose_blanks
    from glassformer.tracing.trace import trace as trace_text
    from glassformer.tracing.writing import as_json, write_npz, write_trace

    predictor = Predictor.load(model, device=run.place)
    doing("tracing")
    (_, (given,)) = given_rows(predictor, [text])
    found = trace_text(predictor, given)
    if html is not None:
        write_trace(html, found, choose_blanks(found) if exercise else ())
        say(f"page: {html}")
    if npz is not None:
        write_npz(npz, found)
        say(f"numbers: {npz}")
    if found.note and (html is not None or npz is not None or run.json):  # the list says it too
        say(f"note: {found.note}")
    if found.weights_left_out:
        say(f"The trace leaves out the {found.weights_left_out:,} weights of this model: they are too many.")
    if run.json:
        print_json(as_json(found))
    elif list_ or (html is None and npz is None):
        _list(found)


def _list(found: Trace) -> None:
    lines = [("matrix", "shape", "numbers", "formula")]
    for matrix in found.answering:
        values = matrix.values
        shape = " × ".join(f"{size} {axis}" for size, axis in zip(values.shape, matrix.step.axes, strict=True))
        numbers = " ".join(f"{value:.4g}" for value in values) if values.ndim == 1 and values.size <= _FEW else "…"
        lines.append((matrix.step.name, shape, numbers, matrix.step.formula))
    print_table(lines, others=str.ljust)
    if found.note:
        show(f"\n{found.note} The list leaves out its steps.")
    show(f"\nThe answer: {found.answer}")
