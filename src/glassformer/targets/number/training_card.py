"""What is said of a trained model of a number."""

from typing import Any

from glassformer.data.wording import counted, figure, short
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.number.evaluation import NumberedRows
from glassformer.targets.number.target import number_of

KIND, COLUMN = "model of a number", "number"
LIMITS = "Only such rows taught it what to answer. On texts of another kind, language or time its answers mean little."
DOUBTED = "a number far from the answer"


def answers(trained: TrainedModel) -> str:
    return f"a number: `{number_of(trained.config.target).column}`."


def learned(trained: TrainedModel) -> str:
    scale = number_of(trained.config.target).scale
    return f" Numbers from {short(scale.lowest)} to {short(scale.highest)}, with a mean of {short(scale.mean)}."


def readers(trained: TrainedModel) -> list[str]:
    if trained.config.answers_by_counting:
        return ["Answers by counting n-grams alone (ridge regression)."]
    weights = {name: weight for name, weight in trained.config.weights.items() if weight}
    parts = {
        NumberedRows.readers_in_words.get(name, f"the reader `{name}`"): weight for name, weight in weights.items()
    }
    if len(parts) == 1:
        return [f"Answers by {next(iter(parts))} alone."]
    silent = " The transformer is not asked." if trained.config.transformer_is_silent else ""
    return [f"Adds up {', and '.join(f'{part}, times {weight:.3f}' for part, weight in parts.items())}.{silent}"]


def measured(trained: TrainedModel) -> list[str]:
    held_out = number_of(trained.config.target).held_out(trained.metrics)
    if held_out is None:
        return []
    within = held_out.distances[89]
    interval = (
        "" if within is None else f" Of new texts like these, 90% should lie within {short(within)} of the answer."
    )
    if "teacher" in trained.config.data:
        return [
            f"On {counted(held_out.rows, 'held-out text')}: R² {figure(held_out.r2)} with the answers of its teacher."
            f"{interval} `glassformer evaluate` measures it on rows with their number."
        ]
    return [
        f"On {counted(held_out.rows, 'row')} that it had not learned: R² {figure(held_out.r2)}, mean absolute error "
        f"{short(held_out.mae)}.{interval}"
    ]


def figures(trained: TrainedModel) -> dict[str, Any]:
    target = number_of(trained.config.target)
    held_out = target.held_out(trained.metrics)
    return {
        "target": target.column,
        "scale": target.scale.model_dump(),
        "readers": {"bias": target.bias, **trained.config.weights},
        "held_out": None if held_out is None else held_out.model_dump(exclude={"distances"}),
    }


def in_short(trained: TrainedModel) -> str:
    held_out = number_of(trained.config.target).held_out(trained.metrics)
    if held_out is None:
        return "nothing was held out"
    kind = "validation" if held_out.folds == 1 else "cross-validated"
    return f"{kind} R² {figure(held_out.r2)}, mean absolute error {short(held_out.mae)}"
