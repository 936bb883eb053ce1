"""Write the model card of a model that answers with a number, from the records of its run."""

from __future__ import annotations

from glassformer.data.inputs import example_of
from glassformer.data.wording import counted, figure, short
from glassformer.models.build import parameter_count
from glassformer.prediction.model_folder import TrainedNumber
from glassformer.prediction.number_config import held_out_of
from glassformer.training.card import inputs_in_words


def number_card(trained: TrainedNumber) -> str:
    """Return the Markdown of the model folder's README.md."""
    config, data, held_out = trained.config, trained.config.data, held_out_of(trained.metrics)
    scale, readers = config.scale, config.readers
    facts = [
        f"Learned on {counted(data['rows'], 'row')} of `{data['source']}` ({inputs_in_words(data, config.inputs)}, "
        f"number: `{config.target}`): numbers from {short(scale.lowest)} to {short(scale.highest)}, with a mean of "
        f"{short(scale.mean)}.",
        "Answers by counting n-grams alone (ridge regression)."
        if config.answers_by_counting
        else f"Adds up ridge regression on n-grams, times {readers.counting:.3f}, and the transformer, times "
        f"{readers.transformer:.3f}."
        if readers.counting is not None
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
    facts.append(f"Made with glassformer {config.versions['glassformer']}, on {config.created}.")
    facts.append(f"Fingerprint of the training rows: `{data['fingerprint']}`.")
    return f"""# A glassformer model of a number

Answers a text with a number: `{config.target}`.

{chr(10).join("- " + fact for fact in facts)}

It knows only what such rows taught it. On texts of another kind, language or time its answers mean little.

    glassformer predict FOLDER {example_of(config.inputs)}
"""
