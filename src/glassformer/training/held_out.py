"""The logits of held-out rows in the folder of an unfinished run, so that a resumed run does not compute them again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from glassformer.data.arrays import FloatArray
from glassformer.data.files import written_aside

_FILE = "held-out.safetensors"


def keep_held_out(folder: Path, logits: FloatArray, seconds: float) -> None:
    """Write the logits (rows, n_classes), and the seconds that it took to get them."""
    with written_aside(folder / _FILE) as aside:
        save_file({"logits": logits, "seconds": np.array([seconds])}, aside)


def kept_held_out(folder: Path | None) -> tuple[FloatArray, float] | None:
    """Return what `keep_held_out` wrote, or None if it is missing or damaged."""
    if folder is None:
        return None
    try:
        kept = load_file(folder / _FILE)
        return kept["logits"], float(kept["seconds"][0])
    except (SafetensorError, OSError, KeyError):
        return None
