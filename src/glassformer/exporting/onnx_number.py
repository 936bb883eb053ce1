"""Export a model of a number to ONNX: the transformer as `model.onnx`, beside all else that its answers depend on.

`prediction/exported_number.py` reads such a folder, without PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from glassformer.data.inputs import example_of
from glassformer.exporting.onnx import largest_difference, write_transformer
from glassformer.prediction.exported import MODEL_FILE
from glassformer.prediction.exported_number import ExportedNumberConfig, ExportedNumberPredictor
from glassformer.prediction.model_folder import TrainedNumber
from glassformer.prediction.number import NumberPredictor


def write_onnx_number(trained: TrainedNumber, folder: Path) -> list[str]:
    """Write an export into an empty folder, and compare its transformer with that of the model.

    Returns:
        Sentences for the user.

    Raises:
        UsageError: the package `onnx` or ONNX Runtime is not installed, or the design cannot be exported.
        GlassformerError: the export does not compute the same.
        OSError, SafetensorError: the files cannot be written.
    """
    predictor, config = NumberPredictor(trained), trained.config
    (folder / "tokenizer.json").write_text(trained.tokenizer.to_json(), encoding="utf-8")
    checked: dict[str, Any] = {}
    notes = ["The model answers by counting alone, so the export holds no transformer."]
    if not config.answers_by_counting:
        path, window = folder / MODEL_FILE, predictor.max_seq_len
        write_transformer(trained.model, path, config.vocab_size, window)
        differs = largest_difference(trained.model, path, config.vocab_size, 1, window)
        checked["largest_difference"] = differs
        notes = [f"The outputs of the transformer differ by at most {differs:.0e} from the model's."]
    for part in (trained.counting, trained.seen):
        if part is not None:
            part.save(folder)
    exported = ExportedNumberConfig(
        vocab_size=config.vocab_size,
        tokenizer=config.tokenizer,
        target=config.target,
        scale=config.scale,
        readers=config.readers,
        unlike=config.unlike,
        inputs=config.inputs,
        max_seq_len=predictor.max_seq_len,
        text_column=predictor.text_column,
        held_out=predictor.held_out,
        parameters=0 if config.answers_by_counting else sum(weight.numel() for weight in trained.model.parameters()),
        made_of={"created": config.created, "versions": config.versions, "data": config.data, "recipe": config.recipe},
        checked=checked,
    )
    (folder / "config.json").write_text(exported.model_dump_json(indent=2) + "\n", encoding="utf-8")
    ExportedNumberPredictor.load(folder)  # it can be read
    (folder / "README.md").write_text(_readme(exported, notes), encoding="utf-8")
    return notes


def _readme(config: ExportedNumberConfig, notes: Sequence[str]) -> str:
    said = "\n".join(f"- {note}" for note in notes)
    return f"""# An exported model of a number

    glassformer predict FOLDER {example_of(config.inputs)}

It answers with `{config.target}`, without PyTorch. `glassformer explain` and `glassformer serve` read it too.

{said}
"""
