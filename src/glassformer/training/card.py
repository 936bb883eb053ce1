"""Write the model card, which says what a model is and is not, from the records of its run."""

from __future__ import annotations

from glassformer.data.table import counted
from glassformer.models.build import parameter_count
from glassformer.prediction.model_folder import TrainedModel


def model_card(trained: TrainedModel) -> str:
    """Return the Markdown of the model folder's README.md (Mitchell et al. 2019, reduced to what the run knows)."""
    config, data = trained.config, trained.config.data
    best = trained.metrics.get("best", {})
    labels = ", ".join(str(label) for label in config.labels)
    kind = "any number of the labels" if config.multilabel else "one of the labels"
    validation = (
        f"On {counted(data['validation_rows'], 'validation row, the one', 'validation rows, the ones')} that chose "
        "this epoch: "
        f"accuracy {best['validation_accuracy']:.4f}, loss {best['validation_loss']:.4f}. "
        "Expect a little less on new texts; `glassformer evaluate` measures it."
        if "validation_accuracy" in best
        else "No rows were held out for validation, so nothing is known about new texts yet; `glassformer evaluate` "
        "measures it."
    )
    parameters = parameter_count(config.model, config.vocab_size, len(config.labels))
    origin = "Trained from scratch" if config.init is None else f"Fine-tuned from `{config.init['from']}`"
    facts = [
        f"{origin} on {counted(data['rows'], 'row')} of `{data['source']}` "
        f"(text: `{data['text_column']}`, label: `{data['label_column']}`).",
        f"{parameters:,} parameters: {config.model.in_words()}; {config.tokenizer.kind} vocabulary of "
        f"{config.vocab_size:,}.",
        f"Reads {config.model.max_seq_len} tokens at once, longer texts in overlapping windows."
        if config.tokenizer.max_tokens is None
        else f"Reads the first {config.tokenizer.max_tokens} tokens of a text.",
        validation,
        "Probabilities are not calibrated: too few validation rows, or no mistake among them."
        if config.temperature == 1
        else f"Logits are divided by a temperature of {config.temperature:.3f} before they become probabilities.",
        f"Made with glassformer {config.versions['glassformer']}, torch {config.versions['torch']}, "
        f"on {config.created}.",
        f"Fingerprint of the training rows: `{data['fingerprint']}`.",
    ]
    return f"""# A glassformer text classifier

Answers a text with {kind}: {labels}.

{chr(10).join("- " + fact for fact in facts)}

It knows only what such rows taught it. On texts of another kind, language or time its answers and its confidence mean
little. It has not been checked for unfair treatment of anyone.

    glassformer predict FOLDER "a text"
"""
