"""A small body in place of `english`, which nearly every training of a test reads and writes a part of."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from glassformer.readers.body import vectors
from glassformer.readers.body.vectors import SOURCES_FILE, Body, body_folder

ENGLISH = body_folder("english")
"""The folder of the whole body."""
_WORDS, _PIECES = 3_000, 1_000
_folder = tempfile.TemporaryDirectory()
SMALL = Path(_folder.name) / "english"
"""What `english` is in this process. Others have the whole one, unless they are given this."""


def use_small_body() -> None:
    """Let `english` be its most frequent words, and some pieces."""
    whole = Body.load(ENGLISH)
    small = replace(
        whole,
        words=whole.words[:_WORDS],
        shares=whole.shares[:_WORDS],
        vectors=whole.vectors[:_WORDS],
        pieces=whole.pieces[:_PIECES],
        piece_vectors=whole.piece_vectors[:_PIECES],
    )
    SMALL.mkdir()
    small.save(SMALL)
    shutil.copyfile(ENGLISH / SOURCES_FILE, SMALL / SOURCES_FILE)
    vectors.SHIPPED = SMALL.parent
