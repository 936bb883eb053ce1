"""Write the model card of a model that answers with a number, from the records of its run."""

from __future__ import annotations

from glassformer.data.inputs import example_of
from glassformer.data.wording import counted, figure, short
from glassformer.models.build import parameter_count
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.number.target import number_of
from glassformer.training.card import inputs_in_words, kept_in_words


def number_card(trained: TrainedModel) -> str:
    """Return the Markdown of the model folder's README.md."""
    config, data, target = trained.config, trained.config.data, number_of(trained.config.target)
    scale, weights, held_out = target.scale, config.weights, target.held_out(trained.metrics)
    facts = [
        f"Learned on {counted(data['rows'], 'row')} of `{data['source']}` ({inputs_in_words(data, config.inputs)}, "
        f"number: `{target.column}`): numbers from {short(scale.lowest)} to {short(scale.highest)}, with a mean of "
        f"{short(scale.mean)}.",
        "Answers by counting n-grams alone (ridge regression)."
        if config.answers_by_counting
        else f"Adds up ridge regression on n-grams, times {weights['counting']:.3f}, and the transformer, times "
        f"{weights['transformer']:.3f}."
        if "counting" in weights
        else "Answers by the transformer alone.",
        f"Transformer: {parameter_count(config.model, config.vocab_size, 1):,} parameters; {config.model.in_words()}.",
    ]
    if held_out is not None:
        within = held_out.distances[89]
        interval = (
            "" if within is None else f" Of new texts like these, 90% should lie within {short(within)} of the answer."
        )
        facts.append(
            f"On {counted(held_out.rows, 'row')} that it had not learned: R² {figure(held_out.r2)}, mean absolute "
            f"error {short(held_out.mae)}.{interval}"
        )
    facts += kept_in_words(trained)
    facts.append(f"Made with glassformer {config.versions['glassformer']}, on {config.created}.")
    facts.append(f"Fingerprint of the training rows: `{data['fingerprint']}`.")
    return f"""# A glassformer model of a number

Answers a text with a number: `{target.column}`.

{chr(10).join("- " + fact for fact in facts)}

It knows only what such rows taught it. On texts of another kind, language or time its answers mean little.

    glassformer predict FOLDER {example_of(config.inputs)}
"""
