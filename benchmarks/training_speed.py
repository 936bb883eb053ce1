"""How fast is training beside the Trainer of `transformers`?

    python -m benchmarks.training_speed disaster-tweets
    python -m benchmarks.training_speed imdb --rows 1000

All train on the same rows and the same token ids, with models of the same width, depth and number of parameters. They
are measured on the same validation rows after each epoch. Each contestant runs in processes of its own, with one thread
and with one for each core, in turn, several times. Its figures are those of the threads with which it is faster. The
speed is that of all epochs but the first, without validation. Needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from benchmarks.experiment import ROOT, Experiment, arguments, environment, running, threads_to_try
from benchmarks.models import read_splits

MAX_SEQ_LEN, BATCH, EPOCHS, ROUNDS = 512, 64, 3, 3
CONTESTANTS: dict[str, tuple[str, str]] = {
    "glassformer": ("ours", "auto"),
    "glassformer, float32": ("ours", "float32"),
    "Trainer, BERT, float32": ("bert", "float32"),
    "Trainer, BERT, bfloat16": ("bert", "bfloat16"),
    "Trainer, ModernBERT, float32": ("modernbert", "float32"),
    "Trainer, ModernBERT, bfloat16": ("modernbert", "bfloat16"),
}
Round = dict[tuple[str, int], dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Token ids with the start token, cut to `MAX_SEQ_LEN`, and class numbers."""

    ids: list[list[int]]
    labels: list[int]


def main() -> None:
    """Measure all contestants in turn, and write one JSON file."""
    parser = arguments(__doc__)
    parser.add_argument("--preset", default="small", choices=("tiny", "small", "base"))
    parser.add_argument("--rows", type=int, help="so many training rows, drawn at random; default: all")
    parser.add_argument("--contestant", help=argparse.SUPPRESS)
    options = parser.parse_args()
    with running(options) as experiment:
        if options.contestant:
            print(json.dumps(measure(experiment, options)))
            return
        found = [alternate() for _ in range(1 if experiment.quick else ROUNDS)]
        name = f"training-speed-{options.data}-{options.preset}"
        experiment.write(name, {"data": options.data, "preset": options.preset} | summary(found))


def alternate() -> Round:
    """Run each contestant once with each number of threads: (contestant, threads) → its figures."""
    found: Round = {}
    for name in CONTESTANTS:
        for threads in threads_to_try():
            command = [sys.executable, *sys.orig_argv[1:], "--contestant", name]
            given = environment(threads, ours=_is_ours(name))
            done = subprocess.run(command, cwd=ROOT, env=given, stdout=subprocess.PIPE, check=True)
            found[name, threads] = json.loads(done.stdout.splitlines()[-1])
            speed = found[name, threads]["texts_per_second"]
            print(f"{name}, threads {threads}: {speed:,.0f} texts/s", file=sys.stderr)
    return found


def summary(rounds: list[Round]) -> dict[str, Any]:
    """Return each contestant's figures with the threads that are its fastest, and its speed beside ours in each round.

    Ours is the fastest of ours, with its fastest threads.
    """
    speeds = {way: [found[way]["texts_per_second"] for found in rounds] for way in rounds[0]}
    fastest = {
        name: max((way for way in speeds if way[0] == name), key=lambda way: median(speeds[way]))
        for name in CONTESTANTS
    }
    ours = speeds[max((fastest[name] for name in CONTESTANTS if _is_ours(name)), key=lambda way: median(speeds[way]))]
    contestants = []
    for name, way in fastest.items():
        runs = [found[way] for found in rounds]
        ratios = [best / speed for best, speed in zip(ours, speeds[way], strict=True)]
        contestants.append(
            {
                "name": name,
                "threads": way[1],
                "parameters": runs[0]["parameters"],
                "texts_per_second": [round(speed, 1) for speed in speeds[way]],
                "with_other_threads": {
                    str(other[1]): [round(speed, 1) for speed in speeds[other]]
                    for other in speeds
                    if other[0] == name and other != way
                },
                "ours_is_faster_by": {"median": median(ratios), "lowest": min(ratios), "highest": max(ratios)},
                "seconds_to_first_step": median(run["seconds_to_first_step"] for run in runs),
                "accuracy_by_epoch": runs[0]["accuracy_by_epoch"],
                "seconds_by_epoch": runs[0]["seconds_by_epoch"],
            }
        )
    return {"rows": next(iter(rounds[0].values()))["rows"], "epochs": EPOCHS, "contestants": contestants}


def _is_ours(name: str) -> bool:
    return CONTESTANTS[name][0] == "ours"


def measure(experiment: Experiment, options: argparse.Namespace) -> dict[str, Any]:
    """Train one contestant."""
    from glassformer.data.sources import Sources
    from glassformer.training.preparation import prepare
    from glassformer.training.recipe import load_recipe

    kind, precision = CONTESTANTS[options.contestant]
    train, _ = read_splits(experiment, options.data, most=options.rows)
    settings = {
        "model.counting": "none", "model.max_seq_len": MAX_SEQ_LEN, "training.epochs": EPOCHS,
        "training.precision": precision, "training.min_steps_per_epoch": 1,
    }  # fmt: skip
    recipe = load_recipe(preset=options.preset, overrides=settings)
    prepared = prepare(Sources(train=train), recipe)
    trainer = train_ours if kind == "ours" else train_theirs
    found = trainer(prepared, kind, precision)
    return {"rows": prepared.splits.train.frame.height} | found


def _figures(clock: Clock, parameters: int) -> dict[str, Any]:
    later = clock.seconds[1:] or clock.seconds
    return {
        "parameters": parameters,
        "texts_per_second": clock.texts * len(later) / sum(later),
        "seconds_to_first_step": clock.first_step,
        "seconds_by_epoch": [round(each, 2) for each in clock.seconds],
        "accuracy_by_epoch": [round(each, 4) for each in clock.accuracies],
    }


class Clock:
    """The time of each epoch without validation, and that from the start of training to the end of its first step."""

    def __init__(self, texts: int) -> None:
        self.texts = texts
        self.seconds: list[float] = []
        self.accuracies: list[float] = []
        self.first_step = 0.0
        self._began = self._epoch = time.perf_counter()

    def begin(self) -> None:
        self._epoch = time.perf_counter()

    def step(self) -> None:
        self._last = time.perf_counter()
        self.first_step = self.first_step or self._last - self._began

    def end(self, accuracy: float) -> None:
        self.seconds.append(self._last - self._epoch)
        self.accuracies.append(accuracy)


def train_ours(prepared: Any, _kind: str, _precision: str) -> dict[str, Any]:
    from glassformer.training.cross_fitting import trainer_of
    from glassformer.training.loop import Silent

    clock = Clock(prepared.splits.train.frame.height)

    class Timing(Silent):
        def on_step(self, *_: object) -> None:
            clock.step()

        def on_epoch(self, row: dict[str, float]) -> None:
            clock.end(row["validation_accuracy"])
            clock.begin()

    trainer_of(prepared, Timing()).run()
    return _figures(clock, prepared.parameters)


def train_theirs(prepared: Any, kind: str, precision: str) -> dict[str, Any]:
    import torch
    from transformers import Trainer, TrainerCallback, TrainingArguments

    train, validation = (_rows(prepared, split) for split in ("train", "validation"))
    model = their_model(kind, prepared)
    clock = Clock(len(train.ids))

    class Timing(TrainerCallback):  # type: ignore[misc]
        def on_epoch_begin(self, *_: Any, **__: Any) -> None:
            clock.begin()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            clock.step()

        def on_epoch_end(self, *_: Any, **__: Any) -> None:
            clock.end(_accuracy(model, validation))
            model.train()

    settings = TrainingArguments(
        output_dir="unused", per_device_train_batch_size=BATCH, num_train_epochs=EPOCHS, learning_rate=5e-4,
        use_cpu=not torch.cuda.is_available(), bf16=precision == "bfloat16", optim="adamw_torch_fused",
        train_sampling_strategy="group_by_length", save_strategy="no", logging_strategy="no", report_to=[],
        disable_tqdm=True, seed=0,
    )  # fmt: skip
    data = [{"input_ids": ids, "labels": label} for ids, label in zip(train.ids, train.labels, strict=True)]
    Trainer(model, settings, train_dataset=data, data_collator=_padded, callbacks=[Timing()]).train()
    return _figures(clock, sum(weight.numel() for weight in model.parameters()))


def their_model(kind: str, prepared: Any) -> Any:
    """Return a model of `transformers` with the width, the depth and about the parameters of ours."""
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        ModernBertConfig,
        ModernBertForSequenceClassification,
    )

    ours = prepared.recipe.model
    common = {
        "vocab_size": prepared.tokenizer.vocab_size, "hidden_size": ours.d_model, "num_hidden_layers": ours.n_layers,
        "num_attention_heads": ours.n_heads, "max_position_embeddings": MAX_SEQ_LEN, "pad_token_id": 0,
        "num_labels": len(prepared.labels.names),
    }  # fmt: skip
    if kind == "bert":  # its feed-forward has two matrices, ours three
        return BertForSequenceClassification(BertConfig(**common, intermediate_size=ours.d_ff * 3 // 2))
    return ModernBertForSequenceClassification(
        ModernBertConfig(
            **common, intermediate_size=ours.d_ff, cls_token_id=2, sep_token_id=2, bos_token_id=2, eos_token_id=2
        )
    )


def _rows(prepared: Any, split: str) -> Rows:
    from glassformer.data.tokenizers import START_ID

    table = getattr(prepared.splits, split)
    encoded = prepared.tokenizer.encode(table.frame["text"].to_list())
    return Rows(
        ids=[[START_ID, *row[: MAX_SEQ_LEN - 1].tolist()] for row in encoded],
        labels=prepared.labels.encode(table).tolist(),
    )


def _padded(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Pad the rows of a batch to the longest, rounded up to eight tokens."""
    import torch

    width = -(-max(len(row["input_ids"]) for row in rows) // 8) * 8
    width = min(width, MAX_SEQ_LEN)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    mask = torch.zeros_like(ids)
    for place, row in enumerate(rows):
        ids[place, : len(row["input_ids"])] = torch.tensor(row["input_ids"])
        mask[place, : len(row["input_ids"])] = 1
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([row["labels"] for row in rows])}


def _accuracy(model: Any, rows: Rows) -> float:
    import torch

    model.eval()
    order: list[int] = np.argsort([len(ids) for ids in rows.ids]).tolist()
    right = 0
    with torch.inference_mode():
        for first in range(0, len(order), BATCH):
            chosen = [{"input_ids": rows.ids[row], "labels": rows.labels[row]} for row in order[first : first + BATCH]]
            inputs = _padded(chosen)
            labels = inputs.pop("labels")
            right += int((model(**inputs).logits.argmax(-1) == labels).sum())
    return right / len(order)


if __name__ == "__main__":
    main()
