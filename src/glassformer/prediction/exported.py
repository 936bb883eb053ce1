"""An exported model: it answers with ONNX Runtime, without PyTorch.

config.json         what answers depend on, and what was checked at the export
tokenizer.json      the vocabulary
model.onnx          the transformer; not there if the model does not ask it
counting.json, counting.safetensors, seen.safetensors  as in a model folder
README.md           the model card
SHA256SUMS          the checksums of these files
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, Field

from glassformer.data.arrays import BoolArray, FloatArray, IntArray, check_is_file
from glassformer.data.checksums import check_sums, read_at_once
from glassformer.data.installed import pip_install
from glassformer.data.json_files import as_record, read_bounded, read_json
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import TextTokenizer
from glassformer.data.windows import bucket, covering_windows, padded
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction.answering import Answering, Given
from glassformer.prediction.answering_config import AnsweringConfig
from glassformer.prediction.folder_format import EXPORTED_NUMBER_FORMAT, format_of
from glassformer.prediction.onnx_graph import MOST_BYTES, RefusedGraphError, check_graph
from glassformer.prediction.reader_files import read_readers
from glassformer.prediction.run_limit import ended_after
from glassformer.readers.counting.reader import WithReaders
from glassformer.readers.counting.unlike import Seen
from glassformer.readers.reader import Reader
from glassformer.targets.labels.held_out import HeldOutAnswers
from glassformer.targets.number.held_out import HeldOutNumbers

MODEL_FILE = "model.onnx"
TOKEN_IDS, ATTENTION_MASK, LOGITS = "token_ids", "attention_mask", "logits"
"""The names of the inputs and the output of the ONNX model."""
_FORMAT_VERSION = 2
_BATCH_TOKENS, _BATCH_SIZE = 2_048, 256
_MOST_SECONDS, _MOST_MEMORY = 120, 2 << 30
"""Of a run of a batch, and of all exported models of a process."""


class LearnedFrom(BaseModel, frozen=True, extra="allow"):
    """What an exported model keeps about its training data."""

    label_column: str | None = None


class HeldOutRows(BaseModel, frozen=True, extra="allow"):
    """What it keeps about how rows were held out."""

    group: str | None = None


class LearnedBy(BaseModel, frozen=True, extra="allow"):
    """What it keeps about its recipe."""

    validation: HeldOutRows = HeldOutRows()


class MadeOf(BaseModel, frozen=True, extra="allow"):
    """A model folder that was exported: when it was made, its versions, its training data and its recipe."""

    created: str = ""
    data: LearnedFrom = LearnedFrom()
    recipe: LearnedBy = LearnedBy()


class ExportedConfig(AnsweringConfig):
    """`config.json` of an exported model."""

    formats: ClassVar = {"labels": "glassformer-onnx", "number": EXPORTED_NUMBER_FORMAT}

    format: str = ""
    """By default that of the target."""
    format_version: int = Field(default=_FORMAT_VERSION, ge=_FORMAT_VERSION, le=_FORMAT_VERSION)
    precision: Literal["float32", "int8"] = "float32"
    max_seq_len: int = Field(ge=2, le=2**20)
    """The most tokens that the transformer reads at once, with the start token."""
    text_column: str | None = None
    """The column of the training table that the texts came from."""
    parameters: int = 0
    """Of the transformer. 0 if it is not asked."""
    held_out_answers: HeldOutAnswers | None = None
    """The figures of the labels of held-out rows. None if the model does not know them."""
    held_out: HeldOutNumbers | None = None
    """The same of numbers."""
    made_of: MadeOf
    """The model folder that was exported."""
    checked: dict[str, Any]
    """How the export was compared with the model."""


@dataclass(frozen=True, kw_only=True)
class Exported(WithReaders):
    """An exported model.

    Attributes:
        transformer: computes the logits (windows, n_classes) of token ids and their mask (windows, seq). None if it is
            not asked.
    """

    config: ExportedConfig
    tokenizer: TextTokenizer
    transformer: Callable[[IntArray, BoolArray], FloatArray] | None
    readers: Mapping[str, Reader]
    seen: Seen | None


class ExportedPredictor(Answering[Given]):
    """Answers texts with an exported model."""

    trained: Exported

    def __init__(self, exported: Exported) -> None:
        self.trained = exported

    @classmethod
    def load(cls, folder: Path) -> ExportedPredictor:
        """Read an exported model.

        Raises:
            UsageError: ONNX Runtime is not installed.
            GlassformerError: a file is missing or damaged, of a later format, or does not match the others.
        """
        return read_at_once(folder, partial(cls._load, folder))

    @classmethod
    def _load(cls, folder: Path) -> ExportedPredictor:
        config = _read_config(folder / "config.json")
        tokenizer = read_tokenizer(folder, config.vocab_size)
        check_sums(folder, unread=("README.md",))  # before the session, whose library reads what it is given
        transformer = None
        if not config.transformer_is_silent:
            session = open_session(folder / MODEL_FILE, config.n_classes)
            transformer = partial(read_windows, session, n_classes=config.n_classes)
        return cls(
            Exported(
                config=config,
                tokenizer=tokenizer,
                transformer=transformer,
                readers=read_readers(folder, config),
                seen=None if config.unlike is None else Seen.load(folder, config.unlike),
            )
        )

    @property
    def max_seq_len(self) -> int:
        return self.trained.config.max_seq_len

    @property
    def text_column(self) -> str | None:
        return self.trained.config.text_column

    @property
    def held_out(self) -> Any:
        config = self.trained.config
        return config.target.held_out({"held_out_answers": config.held_out_answers, "held_out": config.held_out})

    def score(self, rows: list[IntArray], on_progress: Callable[[float], None] | None = None) -> FloatArray:
        """Return the logits (texts, n_classes) of the transformer. A text of several windows gets their mean.

        Raises:
            UsageError: the model does not ask its transformer.
        """
        return score_windows(
            self.read,
            rows,
            max_seq_len=self.max_seq_len,
            n_classes=self.trained.config.n_classes,
            on_progress=on_progress,
        )

    def read(self, token_ids: IntArray, attention_mask: BoolArray) -> FloatArray:
        if self.trained.transformer is None:
            raise UsageError("this exported model answers without a transformer; it holds none")
        return self.trained.transformer(token_ids, attention_mask)


def read_windows(session: Any, token_ids: IntArray, attention_mask: BoolArray, n_classes: int) -> FloatArray:
    """Return the logits (windows, n_classes) of windows with padding."""
    with ended_after(_MOST_SECONDS) as options:
        try:
            (logits,) = session.run([LOGITS], {TOKEN_IDS: token_ids, ATTENTION_MASK: attention_mask}, options)
        except Exception as error:  # the library raises several kinds
            why = f"it took longer than {_MOST_SECONDS} seconds" if options.terminate else _cause(error)
            said = f"{MODEL_FILE} of the exported model cannot be run: {why}; export it again"
            raise GlassformerError(said) from error
    found: FloatArray = logits
    if not isinstance(found, np.ndarray) or found.dtype.kind != "f" or found.shape != (len(token_ids), n_classes):
        raise GlassformerError(f"{MODEL_FILE} of the exported model gives no logits of each text; export it again")
    return found


def _cause(error: Exception) -> str:
    said = str(error)
    if "memory" in said or "Failed to allocate" in said:
        return f"it needs more than {_MOST_MEMORY >> 30} GiB of memory"
    return said.splitlines()[0].rpartition("Status Message: ")[2][:200] or type(error).__name__


def score_windows(
    read: Callable[[IntArray, BoolArray], FloatArray],
    rows: list[IntArray],
    *,
    max_seq_len: int,
    n_classes: int,
    on_progress: Callable[[float], None] | None = None,
) -> FloatArray:
    """Return the logits (texts, n_classes) of token ids, by `read` for windows. A text of several gets their mean."""
    store = TokenStore.in_memory(rows)
    windows = covering_windows(store.lengths, max_seq_len)
    tokens, so_far = max(1, int(windows.lengths.sum())), 0
    totals = np.zeros((len(rows), n_classes), np.float32)
    for chosen in bucket(windows.lengths, batch_tokens=_BATCH_TOKENS, batch_size=_BATCH_SIZE):
        token_ids = padded(store, windows, chosen)
        mask = np.arange(token_ids.shape[1]) <= windows.lengths[chosen][:, None]
        np.add.at(totals, windows.rows[chosen], read(token_ids, mask))
        so_far += int(windows.lengths[chosen].sum())
        if on_progress:
            on_progress(so_far / tokens)
    return totals / np.bincount(windows.rows, minlength=len(rows)).astype(np.float32)[:, None]


def is_exported(folder: Path) -> bool:
    """Whether the folder holds an exported model. The rest of its `config.json` may be damaged."""
    return format_of(folder) in ExportedConfig.formats.values()


def open_session(path: Path, n_classes: int) -> Any:
    """Open an ONNX model with ONNX Runtime, for as many threads as OMP_NUM_THREADS says, or one for each core.

    Raises:
        UsageError: ONNX Runtime is not installed.
        GlassformerError: the file is missing or damaged, or its output has another number of classes.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise UsageError(
            f"an exported model needs ONNX Runtime, which is not installed: {pip_install('onnx')}"
        ) from error
    check_is_file(path)
    model = read_bounded(path, MOST_BYTES, str(path))
    try:
        check_graph(model)
    except RefusedGraphError as error:
        raise GlassformerError(f"{path} is refused: it {error}; export the model again") from error
    _limit_memory()
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.use_env_allocators", "1")
    options.intra_op_num_threads = threads_asked()
    options.log_severity_level = 4  # its own messages would stand between ours
    try:
        session = onnxruntime.InferenceSession(
            model,
            options,
            providers=["CPUExecutionProvider"],
            enable_fallback=0,  # it would print to standard output, and try the same again
            disabled_optimizers=["ConstantFolding"],  # it runs steps of the graph, without a limit on their time
        )
    except Exception as error:  # the library raises several kinds
        raise GlassformerError(f"{path} is damaged or was made for a later ONNX Runtime; copy it again") from error
    inputs = {each.name for each in session.get_inputs()}
    outputs = {each.name: each.shape for each in session.get_outputs()}
    if inputs != {TOKEN_IDS, ATTENTION_MASK} or outputs.get(LOGITS, [])[1:] != [n_classes]:
        raise GlassformerError(f"{path} does not match config.json; the files come from different models")
    return session


@cache
def _limit_memory() -> None:
    """Let all sessions of this process share one pool of memory, which has a limit."""
    import onnxruntime as ort

    memory = ort.OrtMemoryInfo("Cpu", ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, ort.OrtMemType.DEFAULT)
    ort.create_and_register_allocator(memory, ort.OrtArenaCfg({"max_mem": _MOST_MEMORY}))


def threads_asked() -> int:
    """Return how many threads ONNX Runtime gets: OMP_NUM_THREADS, or 0, which is one for each core."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return int(asked) if asked.isdigit() else 0


def read_tokenizer(folder: Path, vocab_size: int) -> TextTokenizer:
    """Read the tokenizer. Raises `GlassformerError` if it does not belong to `config.json`."""
    tokenizer = TextTokenizer.load(folder / "tokenizer.json")
    if tokenizer.vocab_size != vocab_size:
        raise GlassformerError(
            f"{folder}: tokenizer.json has {tokenizer.vocab_size:,} tokens where config.json says {vocab_size:,}; the "
            "files come from different models"
        )
    return tokenizer


def _read_config(path: Path) -> ExportedConfig:
    """Read the `config.json` of an export. Raises `GlassformerError` if it is damaged or of another format."""
    check_is_file(path)
    raw = read_json(path)
    version = raw.get("format_version") if isinstance(raw, dict) else None
    if isinstance(version, int) and version != _FORMAT_VERSION:
        raise GlassformerError(
            f"{path} has format version {version}, and this glassformer reads {_FORMAT_VERSION}; update it, or export "
            "the model again"
        )
    return as_record(ExportedConfig, raw, path)
