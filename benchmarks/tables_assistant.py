"""The tables of docs/how-it-works/assistant.md, from benchmarks/results/assistant.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document, seeds_in_words
from glassformer.alignment.answers import EXACT, NAMES
from glassformer.experiments.published.table import markdown

LEAST = 0.9
SHOWN = 3  # answers of each stage: the first ones, so that nobody has chosen them
_STAGES = {"sft": "the start (`align sft`)", "dpo": "DPO", "ppo": "PPO", "grpo": "GRPO"}


def ways_tables(found: Document) -> Iterator[str]:
    """Yield the ways to an assistant, by the exact judge."""
    heading = ("", *(NAMES[name] for name in EXACT), "KL, nats", "worst seed")
    rows = []
    for stage, mean in found["mean"].items():
        worst = min(found["worst"][stage].values())
        shares = (f"{mean[name]:.1%}" for name in EXACT)
        rows.append((_STAGES.get(stage, stage), *shares, f"{mean['kl']:.2f}", f"{worst:.1%}"))
    yield markdown([heading, *rows])
    seeds = [run["seed"] for run in found["runs"]]
    yield (
        f"Means over {seeds_in_words(seeds)}, {found['answers']} answers each. Every seed trains all stages anew. The "
        f"last column is the lowest share that any seed has. {_failed(found)}"
    )


def _failed(found: Document) -> str:
    """Say which policies of which seeds have a share below the least."""
    failed = [
        f"{name.upper()} with seed {run['seed']}"
        for name in ("ppo", "grpo", "dpo")
        for run in found["runs"]
        if min(run["stages"][name][share]["value"] for share in EXACT) < LEAST
    ]
    said = f"below {LEAST:.0%} in a share"
    return f"Policies {said}: {', '.join(failed)}." if failed else f"No policy is {said}."


def answers_table(found: Document) -> Iterator[str]:
    """Yield the first answers of each stage of the first seed."""
    run = found["runs"][0]
    for stage, title in (("lm", "after step 1"), ("sft", "after step 2"), ("ppo", "after step 4")):
        lines = [f"{number}. {text.strip()}" for number, text in enumerate(run["first_answers"][stage][:SHOWN], 1)]
        yield f"The first {SHOWN}, {title}:"
        yield "\n".join(["```text", *lines, "```"])
