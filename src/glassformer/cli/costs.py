"""`glassformer costs`: what the wrong answers of a model cost."""

from typing import Annotated

import typer

from glassformer.cli.options import Model, Shown
from glassformer.cli.output import print_json, print_table, say, show
from glassformer.cli.there import costs_given
from glassformer.errors import UsageError


def costs(
    model: Model,
    given: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[COSTS]...",
            callback=costs_given,
            help="label=cost for a label that may be missed, review=cost for asking a person, or a table with the "
            "columns truth, answer and cost. Without any, the costs are shown.",
        ),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Answer with the most probable labels again.")] = False,
    *,
    shown: Shown,
) -> None:
    """Show what wrong answers cost, or change it. The model then gives the answers with the lowest expected cost."""
    from glassformer.prediction.change_costs import change_costs
    from glassformer.prediction.load_answering import load_answering
    from glassformer.targets.labels.target import labels_of

    if given and remove:
        raise UsageError("--remove leaves no costs; give costs or --remove")
    if given or remove:
        target = change_costs(model, given or [])
    else:
        config = load_answering(model, device="cpu").trained.config
        config.target.check_labels("`glassformer costs`")
        target = labels_of(config.target)
    if shown.json:
        print_json({"model": str(model), "costs": [row.model_dump() for row in target.costs]})
        return
    if not target.costs:
        show(f"{model}: every wrong answer costs 1, so the answers are the most probable labels")
        return
    print_table(
        [
            ("truth", "answer", "cost"),
            *((row.truth or "any", row.answer or "any wrong one", f"{row.cost:g}") for row in target.costs),
        ]
    )
    if given:
        say(f"next: glassformer evaluate {model} TEST_TABLE")
