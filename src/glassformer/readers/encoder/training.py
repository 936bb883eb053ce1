"""Fit an encoder reader: read the encoder, encode each text once, and fit a linear head to the vectors."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from pydantic import ValidationError
from torch import Tensor

from glassformer.data.arrays import FloatArray
from glassformer.data.checksums import load_arrays, save_arrays
from glassformer.data.inputs import texts_alone
from glassformer.data.model_marks import RECORD_FILE
from glassformer.data.tokenizers import UNKNOWN_ID, batched
from glassformer.data.wording import about, counted
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.pretrained import PretrainedConfig
from glassformer.models.text_encoder import TextEncoderConfig, build_text_encoder
from glassformer.readers.encoder.described import DescribedEncoder, read_described
from glassformer.readers.encoder.prediction import EncoderReader, TextEncoder, texts_of, vectors_of_rows
from glassformer.readers.encoder.training_tuned import Say, tuned
from glassformer.readers.joining import KNOWING, STRANGE
from glassformer.readers.linear import fit_head
from glassformer.readers.reader import FittedReader, Fold, Rows
from glassformer.training.initial_weights import checkpoint_folder, read_checkpoint, read_tensors
from glassformer.training.loop import Observer

VECTORS_FOLDER = "encoded"
"""The folder of a run's work folder that keeps the vectors of its texts."""
_TEXTS_AT_ONCE = 512
_SAID_AFTER = 15.0  # seconds
_MOST_UNKNOWN = 0.15  # of the tokens. Tokenizers of encoders know nearly all words of their languages, in pieces
_FILES = (
    "modules.json", "sentence_*_config.json", "config_sentence_transformers.json", "[0-9]_*/*.json",
    "[0-9]_*/*.txt", "[0-9]_*/*.safetensors",
)  # fmt: skip


def read_encoder(name: str) -> TextEncoder:
    """Read the encoder `hf:…`, a folder or a repository on the hub. Its weights are rounded to 16 bits.

    Raises:
        UsageError: there is no such encoder, or its kind cannot be read.
        GlassformerError: the files are damaged, or cannot be downloaded.
    """
    where = f"`model.body={name!r}`"
    described = read_described(checkpoint_folder(name, where, _FILES), where)
    read = read_checkpoint(described.transformer, name, where)
    assert isinstance(read.model, PretrainedConfig)
    window = min(described.window or read.model.max_seq_len, read.model.max_seq_len)
    try:
        config = TextEncoderConfig(
            trunk=read.model.model_copy(update={"max_seq_len": window}),
            vocab_size=read.tokenizer.vocab_size,
            poolings=described.poolings,  # type: ignore[arg-type] # checked here
            dense=tuple(dense for _, dense in described.dense),
            unit=described.unit,
            prompt=described.prompt,
            lowercase=described.lowercase,
        )
    except ValidationError as error:
        raise UsageError(f"{where}: {error.errors()[0]['msg']}") from error
    weights = {name: tensor for name, tensor in read.weights.items() if not name.startswith("head.")}
    if "positions.weight" in weights:
        weights["positions.weight"] = weights["positions.weight"][:window]
    weights |= _of_dense(described, where)
    model = build_text_encoder(config).requires_grad_(False).eval()
    for name, own in model.state_dict().items():
        if weights[name].shape != own.shape:
            raise GlassformerError(
                f"{where}: {name} is {tuple(weights[name].shape)} where {tuple(own.shape)} is needed; the files come "
                "from different models"
            )
        own.copy_(weights[name].half())
        if not own.isfinite().all():
            raise UsageError(f"{where}: {name} holds weights that 16 bits cannot; such encoders cannot be read")
    own = (described.transformer / RECORD_FILE).is_file()
    return TextEncoder(config=config, tokenizer=read.tokenizer, model=model, own=own)


def _of_dense(described: DescribedEncoder, where: str) -> Mapping[str, Tensor]:
    found: dict[str, Tensor] = {}
    for number, (folder, dense) in enumerate(described.dense):
        tensors = read_tensors(folder, f"{where}: {folder.name}")
        for kind in ("weight", "bias") if dense.bias else ("weight",):
            if f"linear.{kind}" not in tensors:
                raise GlassformerError(f"{where}: {folder.name} holds no linear.{kind}; the checkpoint is incomplete")
            found[f"head.{2 * number}.{kind}"] = tensors[f"linear.{kind}"].float()
    return found


def fit_encoder(
    encoder: TextEncoder,
    rows: Rows,
    folds: Sequence[Fold],
    *,
    tune: int = 0,
    work: Path | None,
    device: str,
    observer: Observer,
) -> FittedReader[EncoderReader]:
    """Fit a reader without the rows of each fold, and then to all rows.

    Args:
        tune: how many pairs of each kind the encoder is tuned on for each row (see `training_tuned.py`). 0: it stays as
            it is. Each fold has an encoder of its own, which has not seen the rows that are held out.
        work: the work folder of the run, which keeps the vectors. None: memory does.
    """
    began = time.perf_counter()
    encoder.model.to(device)
    kept, say = None if work is None else work / VECTORS_FOLDER, observer.on_message
    of_folds = None
    if encoder.own:
        say(
            "glassformer trained this encoder: if it learned rows of this table, the accuracy below is too good; "
            "measure on rows that neither has seen"
        )
    for doubt in (doubts := _doubts(encoder, rows)):
        say(doubt)
    if tune:
        say(f"tuning the encoder {len(folds) + 1:,} times: without the rows of each fold, and on all rows")
        of_folds = [_tuned_vectors(encoder, rows, fold, tune, kept, say) for fold in folds]
        encoder = tuned(encoder, rows, tune, say)
    vectors = _vectors(encoder, rows, kept, say)
    encoder.model.cpu()
    head, scores = fit_head(vectors, rows, folds, of_folds)
    reader = EncoderReader(encoder=encoder, weights=head.weights, bias=head.bias.astype(np.float32))
    return FittedReader(
        reader=reader,
        held_out=scores,
        seconds=time.perf_counter() - began,
        odds=STRANGE if doubts else KNOWING,
        doubts=tuple(doubts),
    )


def _doubts(encoder: TextEncoder, rows: Rows) -> list[str]:
    """Say why the encoder may know nothing of these texts."""
    doubts, weights = [], encoder.model.named_parameters()
    if (unknown := _share_unknown(encoder, rows)) > _MOST_UNKNOWN:
        doubts.append(
            f"{unknown:.0%} of the tokens of these texts are unknown to the encoder; it may be of another language"
        )
    if not any(each.ndim == 1 and each.ne(each[0]).any() for name, each in weights if not name.startswith("head.")):
        doubts.append("this encoder was never trained: the weights of its norms and its biases are as they begin")
    return doubts


def _share_unknown(encoder: TextEncoder, rows: Rows) -> float:
    """Return the share of the tokens of some texts that the tokenizer does not know. Columns are not read."""
    tokens = encoder.encode([texts_alone(row) for row in rows.texts[:_TEXTS_AT_ONCE]])
    return sum(int((ids == UNKNOWN_ID).sum()) for ids in tokens) / max(sum(map(len, tokens)), 1)


def _tuned_vectors(encoder: TextEncoder, rows: Rows, fold: Fold, tune: int, kept: Path | None, say: Say) -> FloatArray:
    learned = rows.take(fold.learned)
    of_rows = [str(each.tolist()) for each in (learned.truth, learned.weights)]
    by = [encoder.fingerprint, f"{tune} {rows.seed}", *of_rows, *learned.texts, "of", *rows.texts]
    return _computed_once(kept, by, lambda: _vectors(tuned(encoder, learned, tune, say), rows, None, say))


def _vectors(encoder: TextEncoder, rows: Rows, kept: Path | None, say: Say) -> FloatArray:
    """Return the vectors of the rows, (rows, texts · dims), and say from time to time how far it is."""

    def vectors(texts: Sequence[str]) -> FloatArray:
        say(f"encoding {counted(len(texts), 'text')}: {encoder.config.in_words()}")
        began = said = time.perf_counter()
        parts, done = [], 0
        for some in batched(texts, _TEXTS_AT_ONCE):
            parts.append(_computed_once(kept, [encoder.fingerprint, *some], partial(encoder.vectors, some)))
            done += len(some)
            if (now := time.perf_counter()) - said > _SAID_AFTER and done < len(texts):
                said = now
                left = about((now - began) / done * (len(texts) - done))
                say(f"encoded {done:,} of {len(texts):,} texts, {left} left")
        return np.concatenate(parts)

    return vectors_of_rows(rows.texts, texts_of(rows), encoder.config.dims, vectors)


def _computed_once(folder: Path | None, by: Iterable[str], compute: Callable[[], FloatArray]) -> FloatArray:
    """Return the vectors that an interrupted run has kept in the folder, or else compute and keep them.

    Args:
        by: all that they depend on.
    """
    if folder is None:
        return compute()
    key = hashlib.sha256("\0".join(by).encode("utf-8", "surrogatepass")).hexdigest()
    file = folder / f"{key}.safetensors"
    if kept := load_arrays(file):
        return kept[0]["vectors"]
    vectors = compute()
    folder.mkdir(exist_ok=True)
    save_arrays(file, {"vectors": vectors})
    return vectors
