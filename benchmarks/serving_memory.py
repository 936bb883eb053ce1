"""How much memory `glassformer serve` takes while large and hostile requests keep coming.

    python -m benchmarks.serving_memory
    python -m benchmarks.serving_memory --quick

For ten minutes, clients on this machine send large bodies to the model that comes with glassformer, each after the
answer to the one before: some are answered, others refused. Between them, they send the mixture of
benchmarks/serving_clients.py. The memory of the server is noted every second.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from benchmarks.experiment import Experiment, arguments, running
from benchmarks.faithfulness import SEED
from benchmarks.serving_clients import KINDS, Client, raw, request
from benchmarks.serving_load import OURS, resident_mb, serving
from glassformer.prediction.shipped import folder_of

MODEL, CLIENTS, SECONDS, QUICK_SECONDS = "sentiment-en", 8, 600, 10
LARGE = {
    "16 texts of 20,000 characters": (lambda text: request({"texts": [(text * 20_000)[:20_000]] * 16}), [200]),
    "a text of 1,900,000 characters": (lambda text: request({"text": (text * 1_900_000)[:1_900_000]}), [422]),
    "a list of 600,000 numbers": (lambda _: request({"texts": [1] * 600_000}), [422]),
    "600,000 brackets": (lambda _: raw(b"[" * 600_000), [400, 422]),
    "an object with 100,000 keys": (lambda _: request({f"key {number}": 0 for number in range(100_000)}), [422]),
}
"""Requests near the limit of 2 MB, by what they are: how they are made of a text, and the statuses that are right."""
BUSY = 429, 503
TEXTS = ("not at all bad ", "the plot is thin, but the cast is a delight ", "I want these two hours back ")


def main() -> None:
    """Run the benchmark."""
    with running(arguments(__doc__, data=False).parse_args()) as experiment:
        experiment.write("serving-memory", measured(experiment))


def measured(experiment: Experiment) -> dict[str, Any]:
    """Send requests, and look at the memory."""
    seconds = QUICK_SECONDS if experiment.quick else SECONDS
    with serving(OURS, folder_of(MODEL)) as (url, process):
        before = resident_mb(process)
        sent, memory = asyncio.run(_loaded(url, process, seconds))
        time.sleep(6)  # in which no request comes
        after = resident_mb(process)
    fifth = max(1, len(memory) // 5)
    means = [round(float(np.mean(memory[part * fifth : (part + 1) * fifth])), 1) for part in range(5)]
    return {
        "model": MODEL,
        "clients": CLIENTS,
        "seconds": seconds,
        "requests": sum(sent.values()),
        "sent": [{"kind": kind, "status": status, "requests": count} for (kind, status), count in sorted(sent.items())],
        "unexpected": sum(count for (kind, status), count in sent.items() if status not in _expected(kind)),
        "memory_mb": {
            "before": before,
            "mean_of_fifths": means,
            "most": max(memory),
            "after": after,
            "every_ten_seconds": memory[::10],
        },
        "growth_over_last_three_fifths": round(means[4] / means[2] - 1, 4),
    }


def _expected(kind: str) -> Sequence[int]:
    return [*(LARGE[kind][1] if kind in LARGE else KINDS[kind].expected), *BUSY]


def _kinds() -> Iterator[str]:
    """Yield a large kind, then nine of the mixture, and so on."""
    rng = np.random.default_rng(SEED)
    answered = [name for name, kind in KINDS.items() if kind.waits and name != "half of a request"]
    shares = np.array([KINDS[name].share for name in answered])
    for large in itertools.cycle(LARGE):
        yield large
        yield from rng.choice(answered, 9, p=shares / shares.sum()).tolist()


async def _loaded(url: str, process: int, seconds: float) -> tuple[Counter[tuple[str, int]], list[float]]:
    """Return how often which kind had which status (-1: no answer), and the memory in each second."""
    kinds, ends = _kinds(), time.monotonic() + seconds
    sent, memory = Counter[tuple[str, int]](), list[float]()

    async def client(number: int) -> None:
        for turn in itertools.count(number):
            if time.monotonic() > ends:
                return
            kind, text, connection, status = next(kinds), TEXTS[turn % len(TEXTS)], Client(url), -1
            make, pieces = (LARGE[kind][0], 1) if kind in LARGE else (KINDS[kind].make, KINDS[kind].pieces)
            with suppress(TimeoutError, OSError):
                status = (await connection.send(make(text), pieces=pieces)).status
            connection.close()
            sent[kind, status] += 1

    async def look() -> None:
        while time.monotonic() < ends:
            memory.append(resident_mb(process))
            await asyncio.sleep(1)

    await asyncio.gather(look(), *(client(number) for number in range(CLIENTS)))
    return sent, memory


if __name__ == "__main__":
    main()
