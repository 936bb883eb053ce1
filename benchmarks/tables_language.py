"""The tables of docs/how-it-works/language-models.md, from language-model and steering in benchmarks/results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchmarks.tables_common import Document, interval
from glassformer.data.wording import counted
from glassformer.evaluation.verdict import signed
from glassformer.experiments.published.table import markdown, short

NAMES = {
    "ours": "ours, preset `small`",
    "notes-decoder": "`notes-decoder`, small and plain",
    "notes-decoder-as-ours": "`notes-decoder`, of our sizes and trained as ours",
    "kneser-ney-5": "Kneser–Ney, order 5",
}
SHOWN = 1  # texts of each model: the first ones, so that nobody has chosen them
FOUR_DECIMALS = "{:.4f}".format


def language_model_tables(found: Document) -> Iterator[str]:
    systems = {NAMES[name]: system for name, system in found["systems"].items()}
    data = found["data"]
    train, held_out, test = (data[part] for part in ("training", "validation", "test"))
    headings = ("model", "bits per byte", "above ours", "parameters", "tokens/s in training")
    yield markdown([headings, *(_model_row(name, system) for name, system in systems.items())])
    headings = ("tokens/s in generation", "1 text", "1, no cache", "32 texts", "32, no cache")
    speeds = {name: system["generation"] for name, system in systems.items() if "generation" in system}
    yield markdown([headings, *((name, *_writing(of_system)) for name, of_system in speeds.items())])
    steps = ", ".join(f"{name}: {system['steps']:,} steps" for name, system in systems.items() if "steps" in system)
    yield (
        f"{train['texts']:,} training texts ({train['bytes'] / 1e6:.1f} MB; {data['left_out']:,} others equal a "
        f"test text and were left out), {held_out['texts']:,} held out to choose the epoch, {test['texts']:,} to test "
        f"({data['test_split']}). Intervals are bootstrap intervals over test texts. Each model that is trained by "
        f"steps had {found['minutes']:g} minutes ({steps}); seed {found['seed']}."
    )


def _model_row(name: str, system: Document) -> tuple[str, ...]:
    above = interval(system["above_ours"], FOUR_DECIMALS) if "above_ours" in system else "–"
    size = f"{system['parameters']:,}" if "parameters" in system else f"{sum(system['ngrams']):,} n-grams"
    return (
        name,
        interval(system["bits_per_byte"], FOUR_DECIMALS),
        above,
        size,
        f"{system['training_tokens_per_second']:,.0f}",
    )


def _writing(speeds: Document) -> Iterator[str]:
    for batch in speeds.values():
        for speed in (batch["cached"], batch["uncached"]):
            yield "–" if speed is None else f"{speed:,.0f}"


def steering_tables(found: Document) -> Iterator[str]:
    judges, before = list(found["judges"]), found["before"]
    by_algorithm = {name: [run for run in found["runs"] if run["algorithm"] == name] for name in found["summary"]}
    rows = [("policy", *judges, "KL, nats", "distinct-2", "tokens"), _policy_row("before", judges, before)]
    for name, runs in by_algorithm.items():
        summary = found["summary"][name]
        liked = (summary["liked"][judge] for judge in judges)
        means = (f"{short(spread['mean'])} ± {short(spread['std'])}" for spread in liked)
        kl, distinct = (f"{summary[key]['mean']:.2f} ± {summary[key]['std']:.2f}" for key in ("kl", "distinct_2"))
        rows.append((f"{name.upper()}, {counted(len(runs), 'seed')}", *means, kl, distinct, ""))
    yield markdown(rows)
    rises = {name.upper(): summary["above_before"] for name, summary in found["summary"].items()}
    rise_rows = ((name, *(interval(rise[judge], signed) for judge in judges)) for name, rise in rises.items())
    yield markdown([("gain over before", *judges), *rise_rows])
    rights = ", ".join(f"{name} {short(right)}" for name, right in found["judges"].items())
    yield (
        "First table: the share of texts that each judge finds favourable, with 95% bootstrap intervals over prompts, "
        "and the mean over seeds ± its standard deviation. Second table: the mean gain over seeds, paired by prompt, "
        f"with intervals over prompts. Accuracy on the first 60 words of test texts: {rights}, "
        f"the classifier that gave the reward {short(found['reward'])}."
    )
    yield "The first text before:"
    yield _quoted(before["texts"][:SHOWN])
    for name, (first, *_) in by_algorithm.items():
        yield f"The same prompt after {name.upper()}, seed {first['seed']}:"
        yield _quoted(first["texts"][:SHOWN])


def _policy_row(name: str, judges: list[str], policy: Document) -> tuple[str, ...]:
    liked = (interval(policy["liked"][judge], "{:.3f}".format) for judge in judges)
    return name, *liked, f"{policy['kl']['value']:.2f}", f"{policy['distinct_2']:.2f}", f"{policy['length']:.0f}"


def _quoted(texts: Iterable[str]) -> str:
    lines = (f"{number}. {' '.join(text.split())}" for number, text in enumerate(texts, 1))
    return "\n".join(["```text", *lines, "```"])
