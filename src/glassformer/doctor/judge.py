"""Judge what was measured: findings on the first loss, activations, attention, gradients and step sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from glassformer.data.wording import in_a_row, listed
from glassformer.doctor.bench import Bench
from glassformer.doctor.findings import Finding, GradientFigures, LayerFigures, Level, percent
from glassformer.doctor.signals import SAMPLE, Signals

_CLOSE, _FAR = 1.1, 1.5  # the first loss as a multiple of the loss of equal chances
_SOME, _MOST = 0.1, 0.5  # share of units or rows
_DEPTH, _STEEP_DEPTH = 30.0, 1_000.0  # ratio of the last block to the first: outputs, gradients
_LARGE_STEP, _HUGE_STEP = 0.05, 0.3  # ‖ΔW‖ / ‖W‖; about 1e-3 is usual
_SMALL_STEP, _TINY_STEP = 1e-4, 2e-5
_NAMED = 3
_MATCH = "trunk.embedding.match"  # see `SegmentedEmbedding`


def check_initial_loss(bench: Bench) -> Finding:
    """Compare the loss before the first step with the loss of equal chances.

    With one label per text, equal chances give ln(number of logits). With class weights or several labels per text, the
    reference is the loss of logits that are all zero. A number is compared with always answering the mean.
    """
    sample = bench.sample(SAMPLE)
    loss = bench.mean_loss(bench.copy_of_model(dropout=False), sample)
    labels = torch.cat([bench.labels(batch) for batch in sample])
    blind = bench.blind_answer()
    equal = bench.loss_of_one_answer(blind, labels)
    found = f"the first loss is {loss:.3f}; {bench.without_reading(blind, equal)}"
    if not math.isfinite(loss):
        advice = "a weight or a layer gives NaN or infinity before any training: see the activations at the start"
        return Finding(check="first loss", level="problem", found=found, advice=advice)
    if loss > _FAR * equal:
        advice = (
            f"the head that came with the weights is confidently wrong here: check that its {bench.target} means the "
            "same as that of the table"
            if bench.from_weights
            else "the untrained model is confidently wrong, and its first steps only unlearn that: initialise the "
            "head's weights at or near zero, and its bias at zero"
        )
        return Finding(check="first loss", level="problem", found=found, advice=advice)
    if loss > _CLOSE * equal:
        advice = "the head could start with smaller weights, but training corrects this in a few steps"
        return Finding(check="first loss", level="worth knowing", found=found, advice=advice)
    return Finding(check="first loss", level="good", found=found)


def check_signals(signals: Signals, *, from_weights: bool = False) -> list[Finding]:
    """Judge activations and attention before and after the steps, the gradients, and the step size."""
    start = _flow(signals.at_start, "at the start", untrained=not from_weights)
    after = f"after {len(signals.losses)} steps"
    if not all(map(math.isfinite, signals.losses)):
        broken = Finding(
            check="short training",
            level="problem",
            found=f"training at the recipe's learning rate gave NaN or infinity in step {len(signals.losses)}",
            advice="choose a much smaller learning rate; see the range test",
        )
        return [broken, *start]
    return [
        *start,
        *_flow(signals.after, after, untrained=False),
        _gradients(signals.gradients, signals.after, after),
        _step_size(signals.gradients, after),
    ]


def _flow(layers: Sequence[LayerFigures], when: str, *, untrained: bool) -> list[Finding]:
    """Judge dead units, saturated gates, attention, and how the signal grows from block to block."""
    units = [layer for layer in layers if layer.dead is not None]
    gates = [layer for layer in layers if layer.kind == "activation" and layer.saturated is not None]
    rows = [layer for layer in layers if layer.kind == "attention"]
    findings = []
    # A trained gate or head may have good reasons to be sure. An untrained one has none.
    worst: Level = "problem" if untrained else "worth knowing"
    line = _SOME if untrained else _MOST
    if units:
        findings.append(_shares(
            f"dead units {when}", [(layer.name, layer.dead or 0.0) for layer in units],
            found="of the units of {place} are dead (never active on the sample)",
            advice="they get no gradient and stay dead: check the bias and the scale of the weights before them; "
            "lower the learning rate if they died during the steps",
            worst="problem", line=_SOME,
        ))  # fmt: skip
    if gates:
        findings.append(_shares(
            f"saturated gates {when}", [(layer.name, layer.saturated or 0.0) for layer in gates],
            found="of the values of {place} are within .01 of an end of their range, where the gradient is almost zero",
            advice="initialise the weights before the gates smaller",
            worst=worst, line=line,
        ))  # fmt: skip
    if rows:
        findings.append(_shares(
            f"attention {when}", [(layer.name, layer.saturated or 0.0) for layer in rows],
            found="of the attention rows of {place} put a weight above .99 on one token",
            advice="scores this far apart pass almost no gradient: check the scale of the query and key weights and "
            "the division by √head_dim" if untrained else
            "the learning rate may be too high, or a single word is enough for this task",
            worst=worst, line=line,
        ))  # fmt: skip
        even = min(layer.uniform or 0.0 for layer in rows)
        if even > 1 - _SOME and not untrained:
            findings.append(Finding(
                check=f"even attention {when}", level="worth knowing",
                found=f"at least {percent(even)} of the attention rows of every layer give all tokens the same weight",
                advice="attention only averages so far; more steps or a higher learning rate may change that",
            ))  # fmt: skip
    return [*findings, *_depth(layers, when, untrained=untrained)]


def _shares(
    check: str, shares: Sequence[tuple[str, float]], *, found: str, advice: str, worst: Level, line: float
) -> Finding:
    """Return a finding on the layer with the largest share. Other layers above the line are named too."""
    ranked = sorted(shares, key=lambda place: -place[1])
    most = ranked[0][1]
    if most <= line:
        share = f"at most {percent(most)}" if most else "none"
        return Finding(check=check, level="good", found=f"{share} {found.format(place='any layer')}")
    others = [f"{name} {percent(other)}" for name, other in ranked[1:] if other > line]
    also = f"; also {listed(others, _NAMED)}" if others else ""
    level: Level = worst if most > _MOST else "worth knowing"
    sentence = f"{percent(most)} {found.format(place=ranked[0][0])}{also}"
    return Finding(check=check, level=level, found=sentence, advice=advice)


def _depth(layers: Sequence[LayerFigures], when: str, *, untrained: bool) -> list[Finding]:
    """Judge whether the signal vanishes or explodes from block to block."""
    spreads = [layer.std for layer in layers if layer.kind == "block"]
    if len(spreads) < 2:
        return []
    check, ratio = f"depth {when}", spreads[-1] / max(spreads[0], 1e-12)
    found = f"the standard deviation of a block's output goes from {spreads[0]:.3g} (first) to {spreads[-1]:.3g} (last)"
    if 1 / _DEPTH < ratio < _DEPTH:
        return [Finding(check=check, level="good", found=found)]
    what = "vanishes" if ratio <= 1 / _DEPTH else "explodes"  # NaN counts as exploded
    advice = "put a norm before each residual branch, or initialise the weights at its end smaller or larger"
    level: Level = "problem" if untrained else "worth knowing"
    return [Finding(check=check, level=level, found=f"the signal {what} with depth: {found}", advice=advice)]


def _gradients(gradients: Sequence[GradientFigures], layers: Sequence[LayerFigures], after: str) -> Finding:
    """Judge parameters without a gradient after the steps, and gradients that vanish or explode with depth."""
    check = f"gradients {after}"
    unreached = [name for own in gradients for name in ([own.name] if own.gradient == 0 else own.unreached)]
    if unreached == [_MATCH]:
        found = "the texts of a row share no token in the sample, so their exact match (embedding.match) learns nothing"
        return Finding(check=check, level="worth knowing", found=found, advice="the model compares texts by attention")
    if unreached:
        advice = "these weights cannot learn: look for dead units after them, a detached path, or an unused part"
        return Finding(
            check=check, level="problem", found=f"no gradient reaches {in_a_row(unreached, _NAMED)}", advice=advice
        )
    silent = sum(own.gradient_at_start == 0 for own in gradients)
    zero = (
        f". Before the first step {silent} of {len(gradients)} had none, as expected: layers after them start at zero "
        "by design, and let no gradient through until they have moved"
        if silent
        else ""
    )
    blocks = [layer.name for layer in layers if layer.kind == "block"]
    norms = [
        math.sqrt(sum(own.gradient**2 for own in gradients if own.name == name or own.name.startswith(f"{name}.")))
        for name in blocks
    ]
    if len(norms) > 1 and not 1 / _STEEP_DEPTH < norms[0] / max(norms[-1], 1e-30) < _STEEP_DEPTH:
        found = f"the norm of the gradient is {norms[0]:.2g} in the first block and {norms[-1]:.2g} in the last"
        advice = "gradients vanish or explode with depth: use pre-norm blocks, fewer of them, or smaller weights"
        return Finding(check=check, level="problem", found=found, advice=advice)
    lowest, highest = min(own.gradient for own in gradients), max(own.gradient for own in gradients)
    found = f"every module gets a gradient, with norms from {lowest:.2g} to {highest:.2g}{zero}"
    if cancelled := [name for own in gradients for name in own.cancelled]:
        found = f"{found}; but only rounding noise reaches {in_a_row(cancelled, _NAMED)}"
        advice = (
            "a later layer cancels what such a parameter adds, as a softmax or a norm cancels a shift of its inputs: "
            "the parameter learns nothing and changes nothing, and could be left out"
        )
        return Finding(check=check, level="worth knowing", found=found, advice=advice)
    return Finding(check=check, level="good", found=found)


def _step_size(gradients: Sequence[GradientFigures], after: str) -> Finding:
    """Judge the median of ‖ΔW‖ / ‖W‖ over modules. The maximum says little: weights that started at zero move far."""
    ratios = [own.update_ratio for own in gradients]
    middle = float(np.median(ratios))
    found = f"one step moves a module's weights by {middle:.1e} of their norm (median; maximum {max(ratios):.1e})"
    check = f"step size {after}"
    if middle > _LARGE_STEP:
        level: Level = "problem" if middle > _HUGE_STEP else "worth knowing"
        return Finding(check=check, level=level, found=f"{found}, which is a lot", advice="lower the learning rate")
    if middle < _SMALL_STEP:
        level = "problem" if middle < _TINY_STEP else "worth knowing"
        advice = "raise the learning rate, else the model hardly learns"
        return Finding(check=check, level=level, found=f"{found}, which is little", advice=advice)
    return Finding(check=check, level="good", found=found)
