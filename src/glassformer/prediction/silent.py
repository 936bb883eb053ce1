"""A model folder whose transformer has no weight. It answers by its other readers, without PyTorch and its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from glassformer.data.checksums import check_sums
from glassformer.data.json_files import read_json
from glassformer.errors import GlassformerError
from glassformer.prediction.answering_config import AnsweringConfig
from glassformer.prediction.exported import Exported, ExportedConfig, ExportedPredictor, read_tokenizer
from glassformer.prediction.folder_format import FORMAT_VERSION, FORMATS
from glassformer.prediction.folder_names import REPORT_FILE
from glassformer.prediction.reader_files import read_readers
from glassformer.readers.counting.unlike import Seen

_UNREAD = ("README.md", REPORT_FILE, "model.safetensors")


def load_silent(folder: Path) -> ExportedPredictor | None:
    """Return what answers, as an exported model of the folder would.

    None: the transformer is asked too, or something is wrong with it, which
    `load_model` says.
    """
    try:
        config = _config(read_json(folder / "config.json"), folder)
        if config is None or not (folder / "model.safetensors").is_file():
            return None
        exported = Exported(
            config=config,
            tokenizer=read_tokenizer(folder, config.vocab_size),
            session=None,
            readers=read_readers(folder, config),
            seen=None if config.unlike is None else Seen.load(folder, config.unlike),
        )
        check_sums(folder, unread=_UNREAD)
    except (GlassformerError, ValidationError, KeyError, TypeError, AttributeError):
        return None
    return ExportedPredictor(exported)


def _config(raw: Any, folder: Path) -> ExportedConfig | None:
    weights = {
        name: reader["weight"] for name, reader in (raw.get("readers") or {"transformer": {"weight": 1}}).items()
    }
    if (
        raw["format"] not in FORMATS.values()
        or raw["format_version"] != FORMAT_VERSION
        or weights["transformer"]
        or weights.get("encoder")
    ):
        return None
    metrics = read_json(folder / "metrics.json")
    rows = raw["data"].get("teacher", {}).get("rows", raw["data"])
    return ExportedConfig(
        max_seq_len=raw["model"]["max_seq_len"],
        text_column=rows["text_column"] if rows.get("read_as") else None,
        held_out_answers=metrics.get("held_out_answers"),
        held_out=metrics.get("held_out"),
        made_of={},
        checked={},
        **{name: raw[name] for name in AnsweringConfig.model_fields if name in raw},
    )
