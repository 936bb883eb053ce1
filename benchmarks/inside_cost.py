"""What does it cost that one can see inside: how long explanations take, and what silent taps cost.

    python -m benchmarks.inside_cost

One thread explains held-out tweets and reviews, and a text of 10,000 words. The models are those of
benchmarks/faithfulness.py: the transformer alone, the preset `small`.

A silent tap is a call that returns its input. The same model computes once with its taps and once without, in pairs,
of which either may be first. The same model compared with itself says how large the noise is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.bench_data import some_rows
from benchmarks.experiment import arguments, running
from benchmarks.faithfulness import SEED, trained_on
from glassformer.explanation.explain import explain
from glassformer.layers.taps import Tap
from glassformer.models.listening import taps_of
from glassformer.prediction.predictor import Predictor

TEXTS = {"disaster-tweets": 100, "imdb": 20}
PAIRS = {"disaster-tweets": 200, "imdb": 20}
ROWS = 8
WORDS_OF_LONG = 10_000

Figures = dict[str, Any]


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__, data=False).parse_args()
    torch.set_num_threads(1)
    with running(options) as experiment:
        found: Figures = {"seed": SEED, "explained": [], "silent_taps": []}
        for data, most in TEXTS.items():
            predictor, _, held_out = trained_on(experiment, data)
            texts = some_rows(held_out, 3 if experiment.quick else most, SEED).frame["text"].to_list()
            found["explained"].append({"data": data, "texts": len(texts), **explained(predictor, texts)})
            rows = held_out.frame["text"].to_list()[:ROWS]
            pairs = 3 if experiment.quick else PAIRS[data]
            found["silent_taps"].append({"data": data, "rows": ROWS, "pairs": pairs, **paired(predictor, rows, pairs)})
        words = " ".join(held_out.frame["text"].head(100).to_list()).split()[
            : 500 if experiment.quick else WORDS_OF_LONG
        ]
        found["long_text"] = {
            "words": len(words),
            "seconds": round(_seconds(partial(explain, predictor, " ".join(words))), 1),
        }
        experiment.write("inside-cost", found | {"load_average_at_end": round(os.getloadavg()[0], 2)})


def explained(predictor: Predictor, texts: Sequence[str]) -> Figures:
    """Return the seconds of an explanation with its check, and of each part that is only made if it is asked for."""
    explain(predictor, texts[0])  # the first is slower
    plain = [_seconds(partial(explain, predictor, text)) for text in texts]
    few = texts[: max(3, len(texts) // 5)]
    with_extra = {
        "counterfactual": [_seconds(partial(explain, predictor, text, counterfactual=True)) for text in few],
        "heads": [_seconds(partial(explain, predictor, text, heads=True)) for text in few],
        "neighbours": [_seconds(partial(explain, predictor, text, neighbours=True)) for text in few],
    }
    return {
        "words": float(np.median([len(text.split()) for text in texts])),
        "seconds": _spread(plain),
        "more_seconds": {
            extra: round(float(np.median(np.subtract(seconds, plain[: len(few)]))), 3)
            for extra, seconds in with_extra.items()
        },
    }


def paired(predictor: Predictor, texts: Sequence[str], pairs: int) -> Figures:
    """Return how many times as long answers and training steps take with taps as without them, and as with them."""
    model = predictor.trained.model
    ids = [torch.tensor(tokens) for tokens in predictor.trained.tokenizer.encode(texts)]
    seq = min(predictor.trained.config.model.max_seq_len, max(map(len, ids)))
    token_ids = nn.utils.rnn.pad_sequence([row[:seq] for row in ids], batch_first=True)
    mask = nn.utils.rnn.pad_sequence([torch.ones(len(row[:seq]), dtype=torch.bool) for row in ids], batch_first=True)

    def answer() -> None:
        with torch.inference_mode():
            model(token_ids, mask)

    def step() -> None:
        loss: Tensor = model(token_ids, mask).float().logsumexp(dim=1).mean()
        loss.backward()

    return {
        "tokens": list(token_ids.shape),
        **{
            name: {"with_to_without": _ratio(work, model, pairs), "with_to_with": _ratio(work, None, pairs)}
            for name, work in (("answers", answer), ("training_step", step))
        },
    }


def _ratio(work: Callable[[], None], model: nn.Module | None, pairs: int) -> Figures:
    """Return the median ratio of the seconds with taps to those without, and its 95% bootstrap interval.

    Args:
        model: the model whose taps are taken out. None compares the work with itself.
    """
    rng, ratios = np.random.default_rng(SEED), []
    work()
    for first_without in rng.random(pairs) < 0.5:
        seconds = {}
        for without in (first_without, not first_without):
            with _without_taps(model) if without and model is not None else _as_it_is():
                seconds[bool(without)] = _seconds(work)
        ratios.append(seconds[False] / seconds[True])
    drawn = np.median(rng.choice(ratios, (2_000, pairs)), axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return {"value": round(float(np.median(ratios)), 4), "low": round(float(low), 4), "high": round(float(high), 4)}


class _NoTap:
    """What a layer without this tap would do: nothing."""

    heard = False

    def __call__(self, values: Tensor) -> Tensor:
        return values


@contextmanager
def _without_taps(model: nn.Module) -> Iterator[None]:
    """Inside the `with` block, a tap is a plain function, and no module."""
    assert taps_of(model), "the model has taps"
    owners = [
        (module, name)
        for module in model.modules()
        for name, child in module.named_children()
        if isinstance(child, Tap)
    ]
    taken = [(module, name, module._modules.pop(name)) for module, name in owners]
    for module, name in owners:
        module.__dict__[name] = _NoTap()
    try:
        yield
    finally:
        for module, name, tap in taken:
            del module.__dict__[name]
            module._modules[name] = tap


@contextmanager
def _as_it_is() -> Iterator[None]:
    yield


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _spread(seconds: Sequence[float]) -> Figures:
    median, slow = np.quantile(seconds, (0.5, 0.95))
    return {"median": round(float(median), 3), "95%": round(float(slow), 3), "slowest": round(max(seconds), 3)}


if __name__ == "__main__":
    main()
