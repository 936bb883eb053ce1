"""Run all checks: a table and a recipe go in, a diagnosis comes out."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import torch
from torch import nn

import glassformer
from glassformer.data.arrays import some_of
from glassformer.data.batches import padding_share
from glassformer.data.sources import Sources, Task
from glassformer.data.wording import counted
from glassformer.doctor import rate_range, signals
from glassformer.doctor.bench import Bench
from glassformer.doctor.findings import LEVELS, Diagnosis, Finding, Histogram, ModelFigures, TokenReport
from glassformer.doctor.judge import check_initial_loss, check_signals
from glassformer.doctor.overfit import check_overfitting
from glassformer.doctor.texts import check_languages, check_lengths, check_rows, check_size, check_unknown
from glassformer.doctor.tokens import report_tokens
from glassformer.targets.parts import part, part_of
from glassformer.training.initial_weights import InitialWeights
from glassformer.training.preparation import Prepared
from glassformer.training.readers import check_body_exists
from glassformer.training.recipe import Recipe
from glassformer.training.training_config import TrainingConfig

_MOST_ROWS = 30_000  # training rows that are encoded
_MOST_HELD_OUT = 10_000
_SIGNAL_SECONDS, _OVERFIT_SECONDS, _RANGE_SECONDS = 30.0, 15.0, 35.0
_FEWEST_RATES = 40
_MOST_TOKENS = 4096  # in a batch

Heard = Callable[[str], None]


def diagnose(
    sources: Sources,
    recipe: Recipe,
    *,
    task: Task | None = None,
    device: str = "cpu",
    init: InitialWeights | None = None,
    on_check: Heard = lambda _: None,
) -> Diagnosis:
    """Check data and model as `train` would use them. Nothing is written, and torch's random state does not change.

    Raises:
        UsageError: a model cannot learn from the data.
        GlassformerError: the weights do not fit the model.
    """
    began = time.perf_counter()
    devices = [torch.device(device)] if device.startswith("cuda") else []
    with torch.random.fork_rng(devices=devices):
        on_check("the vocabulary of the training rows" if init is None else f"the weights of {init.name}")
        way = part_of(task, "training")
        check_body_exists(recipe.model)
        prepared, limits = way.prepare(sources, recipe, init=init, device=device), list[str]()
        bench = _bench(prepared, limits)
        on_check("labels, lengths, unknown words, duplicates")
        text_findings, histogram, tokens = _check_texts(sources, prepared, bench, limits)
        model_findings, figures = list[Finding](), None
        if not recipe.training.without_transformer:
            model_findings, figures = examine_model(bench, on_check, limits)
    findings = [*model_findings, *text_findings]
    return Diagnosis(
        source=sources.train.source,
        rows=prepared.splits.train.frame.height,
        parameters=_size(bench.model),
        model=prepared.recipe.model.in_words(),
        weights=prepared.origin,
        window=recipe.model.max_seq_len,
        learning_rate=recipe.training.learning_rate,
        findings=tuple(sorted(findings, key=lambda finding: LEVELS.index(finding.level))),
        lengths=histogram,
        tokens=tokens,
        figures=figures,
        limits=tuple(limits),
        seconds=round(time.perf_counter() - began, 1),
        version=glassformer.__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def examine_model(bench: Bench, on_check: Heard, limits: list[str]) -> tuple[list[Finding], ModelFigures]:
    """Run every check of the model. What was shortened to save time is added to `limits`."""
    on_check("the first loss, and one batch by heart")
    first = check_initial_loss(bench)
    by_heart, overfit = check_overfitting(bench, seconds=_OVERFIT_SECONDS)
    on_check(f"activations and gradients over {signals.STEPS} steps")
    seen = signals.measure_signals(bench, seconds=_SIGNAL_SECONDS)
    if len(seen.losses) < signals.STEPS and np.isfinite(seen.losses[-1]):
        limits.append(f"activations were measured after {len(seen.losses)} steps instead of {signals.STEPS}")
    rates = int(np.clip(_RANGE_SECONDS / seen.seconds_per_step, _FEWEST_RATES, rate_range.STEPS))
    if rates < rate_range.STEPS:
        limits.append(f"the range test tried {rates} rates instead of {rate_range.STEPS}")
    if _FEWEST_RATES <= bench.steps_per_pass < rates:
        rates = bench.steps_per_pass  # repeated texts would make the last rates look good
    on_check(f"learning rates: a range test of {rates} steps")
    measured = rate_range.measure_rate_range(bench, steps=rates)
    figures = ModelFigures(
        steps=len(seen.losses),
        at_start=seen.at_start,
        after=seen.after,
        gradients=seen.gradients,
        overfit=overfit,
        rate_range=measured,
    )
    rate = rate_range.judge_rate(bench.config.learning_rate, measured)
    return [first, by_heart, *check_signals(seen, from_weights=bench.from_weights), rate], figures


def _bench(prepared: Prepared, limits: list[str]) -> Bench:
    """Return the run's own model and training rows. If there are very many rows, a sample is encoded."""
    recipe, rows = prepared.recipe, prepared.splits.train.frame.height
    model = prepared.model
    chosen = some_of(rows, _MOST_ROWS, recipe.training.seed)
    if len(chosen) < rows:
        limits.append(f"lengths and all checks of the model used {len(chosen):,} of {rows:,} training rows")
    data = prepared.sample(chosen)
    mean = 1 + float(data.train.lengths.clip(max=recipe.model.max_seq_len - 1).mean())  # 1 for the start token
    kind: type[Bench] = part(prepared.family, "doctor")
    return kind(
        model=model,
        data=data,
        config=_smaller_batches(recipe.training, mean, limits),
        max_seq_len=recipe.model.max_seq_len,
        from_weights=prepared.init is not None,
    )


def _smaller_batches(config: TrainingConfig, mean_tokens: float, limits: list[str]) -> TrainingConfig:
    """Return the settings with batches small enough to be fast. Only the order `bucketed` uses `batch_tokens`."""
    texts = max(1, int(_MOST_TOKENS / mean_tokens))
    if config.batch_size <= texts or (config.order == "bucketed" and config.batch_tokens <= _MOST_TOKENS):
        return config
    if config.order == "bucketed":
        limits.append(f"a batch holds {_MOST_TOKENS:,} tokens at most, about {counted(texts, 'text')}")
        return config.model_copy(update={"batch_tokens": _MOST_TOKENS})
    limits.append(f"a batch holds {counted(texts, 'text')} instead of {config.batch_size}")
    return config.model_copy(update={"batch_size": texts})


def _check_texts(
    sources: Sources, prepared: Prepared, bench: Bench, limits: list[str]
) -> tuple[list[Finding], Histogram, TokenReport]:
    recipe, splits, tokenizer, init = prepared.recipe, prepared.splits, prepared.tokenizer, prepared.init
    is_only = not recipe.model.beside
    store, held_out = bench.data.train, splits.validation
    padding = float(np.mean([padding_share(batch) for batch in bench.sample(16)]))
    widest = None if init is None else init.model.max_seq_len
    length, histogram = check_lengths(store.lengths, bench.max_seq_len, padding, widest=widest)
    texts, rows = held_out or splits.train, splits.train.frame.height
    read = some_of(texts.frame.height, _MOST_HELD_OUT, recipe.training.seed)
    if held_out is not None and len(read) < held_out.frame.height:
        limits.append(f"unknown words were counted in {len(read):,} of {held_out.frame.height:,} held-out texts")
    tokens, by_label = report_tokens(
        tokenizer,
        texts,
        read,
        bench.names(prepared),
        max_seq_len=bench.max_seq_len,
        held_out=held_out is not None,
        kind=recipe.tokenizer.kind if init is None else "pretrained",
    )
    findings = [
        *bench.check_truth(sources, prepared),
        *check_languages(sources.train),
        *check_rows(bench.by_value(sources.train), splits, bench.target),
    ]
    if recipe.training.without_transformer:
        return findings, histogram, tokens
    unknown = check_unknown(tokenizer, recipe.tokenizer, store, held_out, read, learned=init is None, is_only=is_only)
    own = [each for each in bench.model.parameters() if each.ndim == 2 and len(each) == tokenizer.vocab_size]
    size = check_size(
        rows,
        int(store.lengths.mean() * rows),
        _size(bench.model),
        sum(each.numel() for each in own),
        held_out=held_out is not None or not is_only,  # otherwise the rows are cross-fitted
        from_weights=bench.from_weights,
    )
    return [*findings, length, unknown, by_label, size], histogram, tokens


def _size(model: nn.Module) -> int:
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
