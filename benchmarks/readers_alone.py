"""Are the readers together ever less accurate than the best of them alone, with 8 rows of each class?

    python -m benchmarks.readers_alone --encoders encoders/films encoders/random
    python -m benchmarks.readers_alone --only trec --quick

Two encoders show what becomes of one that does not fit. `films` is the transformer of a model that learned sentiment
from film reviews: `glassformer export sentiment-en --format transformers`. `random` is a BERT of one block with random
weights, whose vocabulary has no Latin letters; it is made if it is not there. With so few rows, accuracies differ by
.05 from draw to draw, so there are 30 of them. At most 1,500 of the official test rows are answered and decide nothing.
Nothing is trained for the transformer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.bench_data import Cut, cut_rows, entries_named
from benchmarks.experiment import Experiment, arguments
from benchmarks.few_labels import BODY, COUNTING, Right, described, few_rows, measure, numbered, over
from benchmarks.models import classifier
from glassformer.models.model_config import HUB
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import load_recipe

PLAN: Mapping[str, Sequence[int]] = dict.fromkeys(
    ("trec", "disaster-tweets", "customer-reviews", "sentiment140", "imdb"), (8,)
)
DRAWS, FIRST = 30, 200
MOST = 1_500  # test rows


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("--encoders", nargs="+", default=[], type=Path, metavar="FOLDER", help="encoders")
    encoders = parser.parse_known_args()[0].encoders
    for folder in encoders:
        if folder.name == "random" and not folder.exists():
            random_encoder(folder)
    measure("readers-alone", PLAN, partial(line, encoders), parser)


def line(encoders: Sequence[Path], experiment: Experiment, name: str, per_class: int) -> dict[str, Any]:
    """Return the accuracy of each reader alone and of counting with each other one."""
    (entry,) = entries_named([name])
    cut = cut_rows(entry, 0, test=True)
    held_out = replace(cut.held_out, frame=cut.held_out.frame.sample(min(MOST, cut.held_out.frame.height), seed=0))
    bodies = {BODY: BODY} | {each.name: f"{HUB}{each}" for each in encoders}
    right: dict[str, list[Right]] = {}
    for draw in range(FIRST, FIRST + (1 if experiment.quick else DRAWS)):
        part = Cut(train=few_rows(cut.train, per_class, draw)[0], held_out=held_out)
        for body, setting in {"none": "none", **bodies}.items():
            settings = {"training.seed": draw, "training.epochs": 0, "model.body": setting}
            place = f"readers-alone/{name}-{draw}-{body}"
            folder = classifier(experiment, place, load_recipe(None, overrides=settings), part.train, test=held_out)
            for contestant, answered in _right(Predictor.load(folder), part, body).items():
                right.setdefault(contestant, []).append(answered)
    found = described(name, part, right)
    accuracy = {contestant: each["accuracy"]["value"] for contestant, each in found["contestants"].items()}
    best = {body: max((f"{body} alone", COUNTING), key=accuracy.__getitem__) for body in bodies}
    return found | {
        "per_class": per_class,
        "best_alone": best,
        "over_best_alone": {body: over(f"{COUNTING} and {body}", right)[one] for body, one in best.items()},
    }


def _right(predictor: Predictor, part: Cut, body: str) -> dict[str, Right]:
    """Return which test rows the model answers rightly, and its other reader alone."""
    test, truth = numbered(part.held_out, predictor.trained.config.label_set)
    if body == "none":
        return {COUNTING: predictor.logits(test).argmax(axis=1) == truth}
    (reader,) = (each for name, each in predictor.trained.readers.items() if name in ("body", "encoder"))
    alone, together = reader.scores(test), predictor.logits(test)
    return {f"{body} alone": alone.argmax(axis=1) == truth, f"{COUNTING} and {body}": together.argmax(axis=1) == truth}


def random_encoder(folder: Path) -> None:
    """Write a BERT with random weights that knows next to none of the tokens of these tables."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir(parents=True)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "of", "and", *map(chr, range(0x4E00, 0x4EC8))]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    BertTokenizerFast(vocab_file=str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 128}
    BertModel(BertConfig(vocab_size=len(words), **sizes)).save_pretrained(folder)


if __name__ == "__main__":
    main()
