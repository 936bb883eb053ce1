"""What the signals mean: findings on the first loss, activations, attention, gradients and the size of steps."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from glassformer.doctor.bench import Bench
from glassformer.doctor.findings import Finding, GradientFigures, LayerFigures, Level, percent
from glassformer.doctor.signals import SAMPLE, Signals

_CLOSE, _FAR = 1.1, 1.5  # the first loss as a multiple of that of equal chances
_SOME, _MOST = 0.1, 0.5  # share of units or rows
_DEPTH, _STEEP_DEPTH = 30.0, 1_000.0  # the last block against the first: outputs, gradients
_LARGE_STEP, _HUGE_STEP = 0.05, 0.3  # ‖ΔW‖ / ‖W‖; about 1e-3 is usual
_SMALL_STEP, _TINY_STEP = 1e-4, 2e-5
_NAMED = 3


def check_initial_loss(bench: Bench) -> Finding:
    """The loss before the first step, against that of equal chances: ln(logits) with one label per text.

    With class weights or several labels per text the reference is what the very loss gives for logits of zero.
    """
    sample = bench.sample(SAMPLE)
    loss = bench.mean_loss(bench.copy_of_model(dropout=False), sample)
    labels = torch.cat([bench.labels(batch) for batch in sample])
    blind = bench.blind_answer()
    equal = bench.loss_of_one_answer(blind, labels)
    known = bench.loss_of_one_answer(_best_answer(bench, labels, len(blind)), labels)
    plain = bench.config.loss == "cross-entropy" and not bench.data.multilabel
    name = f"equal chances, ln({len(blind)})," if plain else "equal chances for every label"
    found = f"the first loss is {loss:.3f}; {name} gives {equal:.3f}, knowing the labels' shares {known:.3f}"
    if not math.isfinite(loss):
        advice = "a weight or a layer gives not-a-number before any training: see the activations at the start"
        return Finding(check="first loss", level="problem", found=found, advice=advice)
    if loss > _FAR * equal:
        advice = (
            "the head that came with the weights is confidently wrong here: see whether its labels mean what those of "
            "the table do"
            if bench.from_weights
            else "the untrained model is confidently wrong and spends its first steps on unlearning that: start the "
            "head's weights at or near zero, and its bias at zero"
        )
        return Finding(check="first loss", level="problem", found=found, advice=advice)
    if loss > _CLOSE * equal:
        advice = "the head could start with smaller weights; training will even it out in a few steps"
        return Finding(check="first loss", level="worth knowing", found=found, advice=advice)
    return Finding(check="first loss", level="good", found=found)


def check_signals(signals: Signals, *, from_weights: bool = False) -> list[Finding]:
    """Findings on activations and attention before and after, on gradients, and on the size of steps.

    Args:
        from_weights: whether the model had learned something before.
    """
    start = _flow(signals.at_start, "at the start", untrained=not from_weights)
    after = f"after {len(signals.losses)} steps"
    if not all(map(math.isfinite, signals.losses)):
        broken = Finding(
            check="short training",
            level="problem",
            found=f"training at the recipe's rate ended in not-a-number in step {len(signals.losses)}",
            advice="take a much smaller learning rate; see the range test",
        )
        return [broken, *start]
    return [
        *start,
        *_flow(signals.after, after, untrained=False),
        _gradients(signals.gradients, signals.after, after),
        _step_size(signals.gradients, after),
    ]


def _best_answer(bench: Bench, labels: Tensor, n_logits: int) -> Tensor:
    """The best logits for all texts alike: logarithms of the classes' weighted shares, or of each label's odds."""
    weights = bench.data.class_weights.to(labels.device)
    if bench.data.multilabel:
        shares = labels.double().mean(dim=0)
        return (shares * weights / (1 - shares)).log().clamp(-20, 20).float()
    counts = torch.bincount(labels, weights[labels], minlength=n_logits)
    return (counts / counts.sum()).clamp(min=1e-9).log().float()


def _flow(layers: Sequence[LayerFigures], when: str, *, untrained: bool) -> list[Finding]:
    """Dead units, saturated gates and attention, and how the signal grows from block to block."""
    units = [one for one in layers if one.dead is not None]
    gates = [one for one in layers if one.kind == "activation" and one.saturated is not None]
    rows = [one for one in layers if one.kind == "attention"]
    findings = []
    # A trained gate or head may well be sure of itself; an untrained one has no reason to be.
    worst: Level = "problem" if untrained else "worth knowing"
    line = _SOME if untrained else _MOST
    if units:
        findings.append(_shares(
            f"dead units {when}", [(one.name, one.dead or 0.0) for one in units],
            found="of the units of {place} are never active over the sample",
            advice="they get no gradient and stay dead: check the bias and the scale of the weights before them, and "
            "lower the learning rate if they died on the way",
            worst="problem", line=_SOME,
        ))  # fmt: skip
    if gates:
        findings.append(_shares(
            f"saturated gates {when}", [(one.name, one.saturated or 0.0) for one in gates],
            found="of the values of {place} lie within a hundredth of their ends, where the gradient is almost nothing",
            advice="start the weights before them smaller",
            worst=worst, line=line,
        ))  # fmt: skip
    if rows:
        findings.append(_shares(
            f"attention {when}", [(one.name, one.saturated or 0.0) for one in rows],
            found="of the rows of {place} put more than .99 on one token",
            advice="scores this far apart pass almost no gradient: check the scale of the query and key weights and "
            "the division by √head_dim" if untrained else
            "training may have gone too fast, or the task needs no more than one word",
            worst=worst, line=line,
        ))  # fmt: skip
        even = min(one.uniform or 0.0 for one in rows)
        if even > 1 - _SOME and not untrained:
            findings.append(Finding(
                check=f"even attention {when}", level="worth knowing",
                found=f"at least {percent(even)} of the rows of attention in every layer weigh all tokens alike",
                advice="attention only averages so far; more steps or a higher rate may wake it",
            ))  # fmt: skip
    return [*findings, *_depth(layers, when, untrained=untrained)]


def _shares(
    check: str, shares: Sequence[tuple[str, float]], *, found: str, advice: str, worst: Level, line: float
) -> Finding:
    """A finding on the place with the largest share; others above the line are named too."""
    ranked = sorted(shares, key=lambda one: -one[1])
    most = ranked[0][1]
    if most <= line:
        return Finding(check=check, level="good", found=f"at most {percent(most)} {found.format(place='any layer')}")
    others = [f"{name} {percent(share)}" for name, share in ranked[1:] if share > line]
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    also = f" (also {', '.join(others[:_NAMED])}{more})" if others else ""
    level: Level = worst if most > _MOST else "worth knowing"
    sentence = f"{percent(most)} {found.format(place=ranked[0][0])}{also}"
    return Finding(check=check, level=level, found=sentence, advice=advice)


def _depth(layers: Sequence[LayerFigures], when: str, *, untrained: bool) -> list[Finding]:
    """Whether what passes from block to block grows or shrinks out of hand."""
    spreads = [one.std for one in layers if one.kind == "block"]
    if len(spreads) < 2:
        return []
    check, ratio = f"depth {when}", spreads[-1] / max(spreads[0], 1e-12)
    found = f"the spread of what passes from block to block goes from {spreads[0]:.3g} to {spreads[-1]:.3g}"
    if 1 / _DEPTH < ratio < _DEPTH:
        return [Finding(check=check, level="good", found=found)]
    what = "vanishes" if ratio <= 1 / _DEPTH else "explodes"  # what is no number has exploded
    advice = "put a norm before each branch, or start the weights out of it smaller or larger"
    level: Level = "problem" if untrained else "worth knowing"
    return [Finding(check=check, level=level, found=f"the signal {what} with depth: {found}", advice=advice)]


def _gradients(gradients: Sequence[GradientFigures], layers: Sequence[LayerFigures], after: str) -> Finding:
    """Parameters without any gradient after the first steps, and gradients that change by powers of ten with depth."""
    check = f"gradients {after}"
    if none := [name for one in gradients for name in ([one.name] if one.gradient == 0 else one.unreached)]:
        advice = "what is there does not learn: dead units after it, a detached path, or a part that is never used"
        return Finding(check=check, level="problem", found=f"no gradient reaches {_named(none)}", advice=advice)
    started = sum(one.gradient_at_start == 0 for one in gradients)
    zero = (
        f"; before the first step {started} of {len(gradients)} modules had none, as the projections after them start "
        "at zero by design"
        if started
        else ""
    )
    blocks = [one.name for one in layers if one.kind == "block"]
    norms = [
        math.sqrt(sum(one.gradient**2 for one in gradients if one.name == name or one.name.startswith(f"{name}.")))
        for name in blocks
    ]
    if len(norms) > 1 and not 1 / _STEEP_DEPTH < norms[0] / max(norms[-1], 1e-30) < _STEEP_DEPTH:
        found = f"the gradient's norm is {norms[0]:.2g} in the first block and {norms[-1]:.2g} in the last"
        advice = "gradients vanish or explode with depth: use pre-norm blocks, fewer of them, or smaller weights"
        return Finding(check=check, level="problem", found=found, advice=advice)
    lowest, highest = min(one.gradient for one in gradients), max(one.gradient for one in gradients)
    found = f"every module gets one, norms from {lowest:.2g} to {highest:.2g}{zero}"
    if cancelled := [name for one in gradients for name in one.cancelled]:
        found = f"{found}; but nothing except rounding noise reaches {_named(cancelled)}"
        advice = (
            "what follows cancels all that such a parameter adds, as a softmax or a norm does with a shift of all its "
            "inputs: it learns nothing and changes nothing, and could be left out"
        )
        return Finding(check=check, level="worth knowing", found=found, advice=advice)
    return Finding(check=check, level="good", found=found)


def _named(names: Sequence[str]) -> str:
    """ "a", "a, b and c", "a, b, c and 4 more"."""
    shown, more = list(names[:_NAMED]), len(names) - _NAMED
    last = f"{more} more" if more > 0 else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last


def _step_size(gradients: Sequence[GradientFigures], after: str) -> Finding:
    """The median over modules of ‖ΔW‖ / ‖W‖: those that started at zero still move far, the largest says little."""
    ratios = [one.update_ratio for one in gradients]
    middle = float(np.median(ratios))
    found = f"one step moves a module's weights by {middle:.1e} of their norm (median; {max(ratios):.1e} at most)"
    check = f"step size {after}"
    if middle > _LARGE_STEP:
        level: Level = "problem" if middle > _HUGE_STEP else "worth knowing"
        return Finding(check=check, level=level, found=f"{found}, which is much", advice="lower the learning rate")
    if middle < _SMALL_STEP:
        level = "problem" if middle < _TINY_STEP else "worth knowing"
        advice = "raise the learning rate, or the model hardly learns"
        return Finding(check=check, level=level, found=f"{found}, which is little", advice=advice)
    return Finding(check=check, level="good", found=found)
