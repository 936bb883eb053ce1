"""The tables of docs/language-models.md, from benchmarks/results/language-model and benchmarks/results/steering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.tables_common import Document
from glassformer.data.table import counted
from glassformer.evaluation.verdict import signed
from glassformer.experiments.published.table import markdown, short

NAMES = {
    "ours": "ours, preset `small`",
    "notes-decoder": "`notes-decoder`, small and plain",
    "notes-decoder-as-ours": "`notes-decoder`, of our sizes and trained as ours",
    "kneser-ney-5": "Kneser–Ney, order 5",
}


def language_model_tables(found: Document) -> Iterator[str]:
    systems, data = found["systems"], found["data"]
    train, held_out, test = (data[part] for part in ("training", "validation", "test"))
    yield markdown(
        [
            ("model", "bits per byte", "above ours", "parameters", "tokens/s in training"),
            *(_model_row(NAMES[name], one) for name, one in systems.items()),
        ]
    )
    yield markdown(
        [
            ("tokens/s in generation", "1 text", "1, no cache", "32 texts", "32, no cache"),
            *((NAMES[name], *_writing(one["generation"])) for name, one in systems.items() if "generation" in one),
        ]
    )
    yield (
        f"{train['texts']:,} training texts ({train['bytes'] / 1e6:.1f} MB; {data['left_out']:,} more were equal to a "
        f"test text), {held_out['texts']:,} held out to choose the epoch, judged on {test['texts']:,} test texts "
        f"({data['test_split']}). Intervals are bootstrap intervals over test texts. Each model that is trained by "
        f"steps had {found['minutes']:g} minutes ({_steps(systems)}); seed {found['seed']}."
    )
    yield "The first five texts of our model, by seed, as they came (temperature .8, top-p .95, at most 100 tokens):"
    yield _quoted(one["text"] for one in systems["ours"]["samples"])


def _model_row(name: str, one: Document) -> tuple[str, ...]:
    above = _interval(one["above_ours"]) if "above_ours" in one else "–"
    size = f"{one['parameters']:,}" if "parameters" in one else f"{sum(one['ngrams']):,} n-grams"
    return name, _interval(one["bits_per_byte"]), above, size, f"{one['training_tokens_per_second']:,.0f}"


def _steps(systems: Document) -> str:
    return ", ".join(f"{NAMES[name]}: {one['steps']:,} steps" for name, one in systems.items() if "steps" in one)


def _writing(speeds: Document) -> tuple[str, ...]:
    found = (speeds[batch][how] for batch in ("batch 1", "batch 32") for how in ("cached", "uncached"))
    return tuple("–" if speed is None else f"{speed:,.0f}" for speed in found)


def steering_tables(found: Document) -> Iterator[str]:
    judges = list(found["judges"])
    before = found["before"]
    rows = [("policy", *judges, "KL, nats", "distinct-2", "tokens"), _policy_row("before", judges, before)]
    for name, of_it in found["summary"].items():
        runs = [run for run in found["runs"] if run["algorithm"] == name]
        rows += [_policy_row(f"{name.upper()}, seed {run['seed']}", judges, run) for run in runs]
        liked = (of_it["liked"][judge] for judge in judges)
        means = (f"**{short(one['mean'])} ± {short(one['std'])}**" for one in liked)
        kl, distinct = (f"{of_it[key]['mean']:.2f} ± {of_it[key]['std']:.2f}" for key in ("kl", "distinct_2"))
        rows.append((f"**{name.upper()}, {counted(len(runs), 'seed')}**", *means, kl, distinct, ""))
    yield markdown(rows)
    rises = {name.upper(): of_it["above_before"] for name, of_it in found["summary"].items()}
    yield markdown(
        [
            ("above before", *judges),
            *((name, *(_rise(of_it[judge]) for judge in judges)) for name, of_it in rises.items()),
        ]
    )
    rights = ", ".join(f"{name} {short(right)}" for name, right in found["judges"].items())
    yield (
        "Share of texts that each judge finds favourable, with 95% bootstrap intervals over prompts; the mean over "
        "seeds with its standard deviation. Above before: mean differences over seeds, paired by prompt; intervals "
        f"over prompts. On the first 60 words of test texts the judges are right in {rights} of the cases, "
        f"the classifier that gave the reward in {short(found['reward'])}."
    )
    yield "The first five texts before:"
    yield _quoted(before["texts"])
    for name in found["summary"]:
        (first, *_) = (run for run in found["runs"] if run["algorithm"] == name)
        yield f"The same prompts after {name.upper()}, seed {first['seed']}:"
        yield _quoted(first["texts"])


def _policy_row(name: str, judges: list[str], one: Document) -> tuple[str, ...]:
    liked = (_interval(one["liked"][judge], places=3) for judge in judges)
    return name, *liked, f"{one['kl']['value']:.2f}", f"{one['distinct_2']:.2f}", f"{one['length']:.0f}"


def _rise(one: Document) -> str:
    return f"{signed(one['value'])} [{signed(one['low'])}, {signed(one['high'])}]"


def _interval(one: Document, *, places: int = 4) -> str:
    return f"{one['value']:.{places}f} [{one['low']:.{places}f}, {one['high']:.{places}f}]"


def _quoted(texts: Any) -> str:
    lines = (f"{number}. {' '.join(text.split())}" for number, text in enumerate(texts, 1))
    return "\n".join(["```text", *lines, "```"])
