"""`glassformer compare`: compare two models on the same labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.flags import as_flags
from glassformer.cli.hints import check_order
from glassformer.cli.options import (
    DataDir,
    Device,
    FoldLabels,
    LabelColumn,
    Model,
    MultilabelAsTrained,
    Shown,
    TextColumn,
    model_folder,
)
from glassformer.cli.output import doing, print_json, say, show

if TYPE_CHECKING:
    from glassformer.evaluation.paired_comparison import Flip
    from glassformer.evaluation.record import Estimate

_FLIPS_SHOWN = 5


def compare(
    model_a: Model,
    model_b: Annotated[Path, typer.Argument(callback=model_folder, help="Another model, with the same labels.")],
    data: Annotated[str, typer.Argument(help="A labelled table, or a known data set (its test split).")],
    text: TextColumn = None,
    label: LabelColumn = None,
    multilabel: MultilabelAsTrained = None,
    fold_labels: FoldLabels = False,
    device: Device = "auto",
    data_dir: DataDir = None,
    *,
    shown: Shown,
) -> None:
    """Compare two models on the same texts: difference in accuracy, McNemar's test, texts on which they differ."""
    from glassformer.data.known import check_source
    from glassformer.data.wording import counted
    from glassformer.evaluation.paired_comparison import compare_models
    from glassformer.prediction.devices import choose_device

    check_order(model_a, data)
    check_order(model_b, data)
    check_source(data)
    doing(f"answering {data} with both models")
    found = compare_models(
        model_a,
        model_b,
        data,
        text=text,
        label=label,
        multilabel=multilabel,
        fold_labels=fold_labels,
        device=choose_device(device),
        data_dir=data_dir,
    )
    if shown.json:
        print_json(found.model_dump(mode="json"))
        return
    show(f"{found.data}: {counted(found.rows, 'text')}")
    for note in found.notes:
        say(f"note: {as_flags(note)}")
    for name, accuracy, macro_f1 in (
        (found.model_a, found.accuracy_a, found.macro_f1_a),
        (found.model_b, found.accuracy_b, found.macro_f1_b),
    ):
        show(f"{name}: accuracy {_estimate(accuracy)}, macro F1 {_estimate(macro_f1)}")
    show(found.verdict)
    _show_flips(f"only {found.model_a} is right", found.only_a_right)
    _show_flips(f"only {found.model_b} is right", found.only_b_right)
    say("--json lists all of these texts")


def _estimate(estimate: Estimate) -> str:
    from glassformer.evaluation.verdict import share

    return f"{share(estimate.value)} ({share(estimate.low)} to {share(estimate.high)})"


def _show_flips(title: str, flips: tuple[Flip, ...]) -> None:
    from glassformer.data.wording import counted

    show(f"\n{title}: {counted(len(flips), 'text')}")
    for flip in flips[:_FLIPS_SHOWN]:
        text = " ".join(flip.text.split())
        shown = text if len(text) <= 100 else text[:99] + "…"
        show(f"  row {flip.row}, {flip.truth} (answers {flip.answer_a} / {flip.answer_b}): {shown}")
