"""Export a model to ONNX: the transformer as `model.onnx`, beside all else that its answers depend on.

`prediction/exported.py` reads such a folder, without PyTorch.
"""

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import nn

from glassformer.data.inputs import example_of
from glassformer.data.installed import pip_install
from glassformer.data.table import Table
from glassformer.errors import GlassformerError, UsageError
from glassformer.evaluation.seen_rows import seen_rows
from glassformer.pages.html import written
from glassformer.prediction.exported import (
    ATTENTION_MASK,
    LOGITS,
    MODEL_FILE,
    TOKEN_IDS,
    ExportedConfig,
    ExportedPredictor,
    MadeOf,
    open_session,
)
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.model_folder import TrainedModel
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.reader_files import save_readers

Precision = Literal["float32", "int8"]
TOLERANCE = 1e-4
"""The largest difference of a logit between the model and its export in float32."""
_SHAPES = ((1, 1), (1, 2), (3, 17), (2, 64))  # of random token ids that are compared


class Int8RefusedError(UsageError):
    """Weights of one byte would change the answers, or there are no rows to find out."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"{reason}; export in float32 instead (`format='onnx'`)")
        self.reason = reason


def write_onnx(trained: TrainedModel, folder: Path, *, precision: Precision) -> list[str]:
    """Write an export into an empty folder, and compare its answers with those of the model.

    With `int8`, the answers to the validation rows are compared. If a small table was cross-fitted, it has no
    validation rows, and the training rows are taken.

    Returns:
        Sentences for the user.

    Raises:
        UsageError: the package `onnx` or ONNX Runtime is not installed, or the design cannot be exported.
        Int8RefusedError: int8 would change too many answers, or the rows to compare answers on cannot be read.
        GlassformerError: the export does not compute the same.
        OSError, SafetensorError: the files cannot be written.
    """
    check_readers(trained)
    predictor, config = Predictor(trained), trained.config
    rows = _rows(trained) if precision == "int8" and not config.transformer_is_silent else None
    (folder / "tokenizer.json").write_text(trained.tokenizer.to_json(), encoding="utf-8")
    checked: dict[str, Any] = {}
    if not config.transformer_is_silent:
        write_transformer(trained.model, folder / MODEL_FILE, config.vocab_size, predictor.max_seq_len)
        checked["largest_difference"] = largest_difference(
            trained.model, folder / MODEL_FILE, config.vocab_size, config.n_classes, predictor.max_seq_len
        )
        if precision == "int8":
            _quantise(folder / MODEL_FILE)
    save_readers(folder, trained.readers)
    if trained.seen is not None:
        trained.seen.save(folder)
    exported = ExportedConfig(
        precision=precision,
        max_seq_len=predictor.max_seq_len,
        text_column=predictor.text_column,
        parameters=0 if config.transformer_is_silent else sum(weight.numel() for weight in trained.model.parameters()),
        held_out_answers=trained.metrics.get("held_out_answers"),
        held_out=trained.metrics.get("held_out"),
        made_of=MadeOf.model_validate(
            {name: getattr(config, name) for name in ("created", "versions", "data", "recipe")}
        ),
        checked=checked,
        **{name: getattr(config, name) for name in _SHARED},
    )
    _write_config(folder, exported)
    loaded = ExportedPredictor.load(folder)
    if rows is not None:
        (table, kind), answers = rows, config.target.part("exporting")
        texts = table.frame["text"].to_list()
        compared = answers.compared(config, predictor.answer(texts), loaded.answer(texts), table)
        checked |= {"on": table.source, "kind": kind} | compared
        _write_config(folder, exported.model_copy(update={"checked": checked}))
    notes = _notes(config, exported, checked)
    card = written("exporting/onnx_card", config=exported, notes=notes, example=example_of(config.inputs))
    (folder / "README.md").write_text(card, encoding="utf-8")
    if rows is not None and (why := answers.changed(checked)) is not None:
        raise Int8RefusedError(f"int8 would change the answers: {why}")
    return notes


def check_readers(trained: TrainedModel) -> None:
    """Raise `UsageError` if a reader of the model needs PyTorch."""
    if "encoder" in trained.readers:
        raise UsageError(
            "it asks a pre-trained encoder, which needs PyTorch; `glassformer distil` makes a small transformer of the "
            "model, which can be exported"
        )


def _rows(trained: TrainedModel) -> tuple[Table, str]:
    """Return the rows that answers are compared on, and what they are, such as "validation rows of its teacher"."""
    seen = seen_rows(trained.config, None, fetch=True)
    if isinstance(seen, str):
        raise Int8RefusedError(f"int8 must be checked on validation rows, which a model folder does not hold. {seen}")
    kind = "training rows" if seen.validation is None else "validation rows"
    whose = "" if trained.config.learner == "the model" else f" of {trained.config.learner}"
    return seen.validation or seen.train, f"{kind}{whose}"


_SHARED = ("vocab_size", "tokenizer", "target", "readers", "unlike", "inputs")


def _write_config(folder: Path, config: ExportedConfig) -> None:
    (folder / "config.json").write_text(config.model_dump_json(indent=2) + "\n", encoding="utf-8")


def write_transformer(model: nn.Module, path: Path, vocab_size: int, max_seq_len: int) -> None:
    """Write a classifier as an ONNX model, for any number of windows of any width.

    Raises:
        UsageError: a package is missing, or the design cannot be exported.
    """
    try:
        import onnxscript  # noqa: F401  # torch.onnx needs it
    except ImportError as error:
        raise UsageError(f"an export to ONNX needs more packages: {pip_install('onnx')}") from error
    width = min(17, max_seq_len)
    token_ids = torch.randint(vocab_size, (3, width))
    mask = torch.arange(width) < torch.tensor([width, width, max(1, width // 2)])[:, None]
    any_size = torch.export.Dim.DYNAMIC  # torch 2.9 would export sizes with names only for more than one window
    with _quietly(), torch.inference_mode():
        try:
            program = torch.onnx.export(
                model.cpu().eval(),
                (token_ids, mask),
                dynamo=True,
                verbose=False,
                input_names=[TOKEN_IDS, ATTENTION_MASK],
                output_names=[LOGITS],
                dynamic_shapes=({0: any_size, 1: any_size}, {0: any_size, 1: any_size}),
            )
        except Exception as error:  # the exporter raises what any of its steps raises
            raise UsageError(
                f"this design ({type(model).__name__}) cannot be exported to ONNX: its computation depends on the "
                "texts in a way that ONNX does not express"
            ) from error
    assert program is not None
    program.save(path)


@contextmanager
def _quietly() -> Iterator[None]:
    """Inside the `with` block, the exporter says nothing about packages and names that do not matter here."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def _quantise(path: Path) -> None:
    """Replace the float32 weights of an ONNX model by int8, with a scale for each output of a layer."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    graph = onnx.load(path)
    del graph.graph.value_info[:]  # shapes that the exporter noted are in the way of the library's own inference
    root = logging.getLogger()
    level = root.level
    root.setLevel(logging.ERROR)  # it warns that the model was not preprocessed, which gains nothing here
    try:
        # 7 bits: processors without VNNI add products of 8 bits in 16, which overflow and change the answers
        quantize_dynamic(graph, path, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    finally:
        root.setLevel(level)


def largest_difference(model: nn.Module, path: Path, vocab_size: int, n_classes: int, max_seq_len: int) -> float:
    """Return the largest difference of a logit between the model and its export, on random windows with padding.

    Raises:
        GlassformerError: it is larger than `TOLERANCE`.
    """
    session = open_session(path, n_classes)
    random = np.random.default_rng(0)
    largest = 0.0
    for windows, width in (*_SHAPES, (1, max_seq_len)):
        width = min(width, max_seq_len)
        token_ids = random.integers(0, vocab_size, (windows, width))
        mask = np.arange(width) < random.integers(1, width + 1, (windows, 1))
        mask[0] = True  # one window is as wide as the batch
        with torch.inference_mode():
            expected = model(torch.from_numpy(token_ids), torch.from_numpy(mask)).float().numpy()
        (found,) = session.run([LOGITS], {TOKEN_IDS: token_ids, ATTENTION_MASK: mask})
        largest = max(largest, float(np.abs(found - expected).max()))
    if not largest <= TOLERANCE:
        raise GlassformerError(
            f"the export does not compute the same as the model: a logit differs by {largest:.1e}, more than "
            f"{TOLERANCE:.0e}; please report this"
        )
    return largest


def _notes(trained: FolderConfig, config: ExportedConfig, checked: Mapping[str, Any]) -> list[str]:
    if config.transformer_is_silent:
        return ["The transformer does not take part in the answers, so the export holds no ONNX file."]
    notes = [f"The scores of the transformer differ by at most {checked['largest_difference']:.0e} from the model's."]
    if config.precision == "int8":
        notes = [trained.target.part("exporting").said(checked)]
    return notes
