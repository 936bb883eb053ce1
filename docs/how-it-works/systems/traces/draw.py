"""Trains a small model of each published system, and writes the trace of a text: `make traces`, a few minutes.

    python docs/how-it-works/systems/traces/draw.py vinh-mlp      # only this one

The models are smaller than the published ones, so that a page stays small. The pages of the systems say which sizes are
changed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
GLASSFORMER = (sys.executable, "-m", "glassformer")


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A trace to write: which model reads which text.

    Attributes:
        settings: those of the recipe that are changed.
    """

    recipe: str
    settings: tuple[str, ...]
    data: str = "polarity"
    text: str = "the plot is dull, but the acting is superb"


_FIVE_WORDS = ("tokenizer.max_tokens=5", "model.max_seq_len=6", "model.embed_dim=2", "training.epochs=3")
_TWELVE_WORDS = ("tokenizer.max_tokens=12", "model.max_seq_len=13")
_RECURRENT = (
    *_TWELVE_WORDS, "model.embed_dim=8", "model.hidden=8", "training.epochs=20", "training.patience=20",
    "training.learning_rate=0.01",
)  # fmt: skip
_FEW_WORDS = "the plot is not dull"
_OF_ZHOU = "i was not sad i am happy right now"
TRACES = {
    "bui-dang-rows": Drawn(recipe="bui-dang-rows", settings=(), data="zhou", text=_OF_ZHOU),
    "bui-dang-columns": Drawn(
        recipe="bui-dang-columns", settings=("training.seed=2", "model.hidden=8"), data="zhou", text=_OF_ZHOU
    ),
    "vinh-mlp": Drawn(recipe="vinh-mlp", settings=_FIVE_WORDS, text=_FEW_WORDS),
    "vinh-attention": Drawn(recipe="vinh-attention", settings=_FIVE_WORDS, text=_FEW_WORDS),
    "vinh-recurrent-rnn": Drawn(recipe="vinh-recurrent", settings=("model.cell=rnn", *_RECURRENT)),
    "vinh-recurrent-gru": Drawn(recipe="vinh-recurrent", settings=("model.cell=gru", *_RECURRENT)),
    "vinh-recurrent-lstm": Drawn(
        recipe="vinh-recurrent", settings=("model.cell=lstm", "model.directions=both", *_RECURRENT)
    ),
    "vinh-transformer": Drawn(
        recipe="vinh-transformer",
        settings=(*_TWELVE_WORDS, "model.embed_dim=8", "model.num_heads=2", "training.epochs=4"),
    ),
    "notes-decoder": Drawn(
        recipe="notes-decoder",
        settings=(*_TWELVE_WORDS, "model.emb_dim=8", "model.num_heads=2", "training.epochs=4"),
    ),
    "sentiment140": Drawn(
        recipe="sentiment140",
        settings=(
            "tokenizer.max_tokens=31", "model.max_seq_len=32", "model.d_model=8", "model.n_heads=2", "model.d_ff=12",
            "model.n_layers=2", "training.epochs=4", "training.learning_rate=0.001",
        ),
    ),
}  # fmt: skip
"""The name of a page → what it shows."""


def main() -> None:
    """Write the pages that the command line names, or all of them."""
    for name in sys.argv[1:] or TRACES:
        drawn = TRACES[name]
        with tempfile.TemporaryDirectory() as folder:
            model = f"{folder}/model"
            changed = [word for setting in drawn.settings for word in ("--set", setting)]
            _run("train", drawn.data, "--recipe", drawn.recipe, *changed, "--out", model, "--quiet")
            _run("trace", model, drawn.text, "--html", str(HERE / f"{name}.html"), "--overwrite")


def _run(*arguments: str) -> None:
    subprocess.run([*GLASSFORMER, *arguments], check=True)


if __name__ == "__main__":
    main()
