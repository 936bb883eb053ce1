"""How `glassformer serve` answers under load: how fast, whether all are answered, and how much memory it takes.

    python -m benchmarks.serving_load
    python -m benchmarks.serving_load --quick

64 clients on this machine each send the next request when the one before is answered. Servers in turn, several times,
answer the same held-out tweets: `glassformer serve`, the same without micro-batching, and a plain FastAPI server around
a pipeline of `transformers` of the same size, with one thread and with one for each core. Ours is compared with the
faster of these two in each round. Then slow, broken and hostile requests are mixed in (benchmarks/serving_clients.py),
and each answer to one text is compared with that of the model alone.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.bench_data import hold_out_fifth, some_rows
from benchmarks.experiment import ROOT, Experiment, arguments, environment, running, threads_to_try
from benchmarks.faithfulness import SEED
from benchmarks.models import classifier
from benchmarks.serving_clients import KINDS, Sent, load
from benchmarks.serving_peers import bert_like
from benchmarks.tables_serving import serving_tables
from glassformer.data.known import resolve
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import load_recipe

CLIENTS, REQUESTS, TEXTS, ROUNDS = 64, 10_000, 1_000, 5
MIXTURES = 6  # times as many requests, hostile ones among them: does the memory stop growing?
WARM_UP = 500  # requests before the clock runs: a matrix library prepares its code for each shape
SERVE = [sys.executable, "-m", "glassformer", "serve"]
PEER = [sys.executable, "-m", "benchmarks.serving_peers"]
OURS = "`glassformer serve`"
PLAIN = {f"FastAPI and a `transformers` pipeline, threads: {threads}": threads for threads in threads_to_try()}
CORES = threads_to_try()[-1]  # `serve` itself computes with one thread
SERVERS = {
    OURS: ([*SERVE, "MODEL", "--port", "0", "--json", "--quiet"], CORES),
    "the same, one request at a time": ([*PEER, "one at a time", "MODEL"], 1),
    **{name: ([*PEER, "pipeline", "MODEL"], threads) for name, threads in PLAIN.items()},
}
EXACT = 2e-6  # the last of six decimals may differ by one

Figures = dict[str, Any]


def main() -> None:
    """Run the benchmark."""
    options = arguments(__doc__, data=False).parse_args()
    with running(options) as experiment:
        found = measured(experiment)
        experiment.write("serving-load", found, serving_tables)


def measured(experiment: Experiment) -> Figures:
    """Measure all servers."""
    data, requests = ("polarity", 200) if experiment.quick else ("disaster-tweets", REQUESTS)
    recipe = load_recipe(None, overrides={"model.counting": "none", "training.seed": SEED})
    train, held_out = hold_out_fifth(resolve(data, "train"), SEED)
    folder = classifier(experiment, f"faithfulness/{data}", recipe, train)
    texts = some_rows(held_out, TEXTS, SEED).frame["text"].to_list()
    predictor = Predictor.load(folder)
    config = predictor.trained.config
    right = comparing(predictor, texts)
    plain = [("one text", number % len(texts)) for number in range(requests)]
    warm, lone = plain[: max(WARM_UP // (10 if experiment.quick else 1), CLIENTS)], plain[: requests // 10]

    def tried(server: str) -> dict[str, Figures]:
        with serving(server, folder) as (url, _):
            asyncio.run(load(url, warm, texts, right, clients=CLIENTS))
            crowd = timed(url, plain, texts, right, clients=CLIENTS)
            return {"many": crowd, "one": timed(url, lone, texts, right, clients=1)}

    rounds = [{name: tried(name) for name in SERVERS} for _ in range(1 if experiment.quick else ROUNDS)]
    servers = [
        {"server": name} | {crowd: middle([found[name][crowd] for found in rounds]) for crowd in ("many", "one")}
        for name in SERVERS
    ]
    with serving(OURS, folder) as (url, process):
        asyncio.run(load(url, warm, texts, right, clients=CLIENTS))
        hostile = mixed(url, process, texts, right, requests=MIXTURES * requests)
    return {
        "data": data,
        "requests": requests,
        "rounds": len(rounds),
        "sooner": [round(min(p95_of(found, name) for name in PLAIN) / p95_of(found, OURS), 2) for found in rounds],
        "parameters": sum(weight.numel() for weight in predictor.trained.model.parameters()),
        "parameters_of_pipeline": bert_like(config.model, config.vocab_size, config.n_classes).num_parameters(),
        "clients": CLIENTS,
        "texts": {"number": len(texts), "words": float(np.median([len(text.split()) for text in texts]))},
        "servers": servers,
        "hostile": hostile,
        "load_average_at_end": round(os.getloadavg()[0], 2),
    }


def middle(found: Sequence[Figures]) -> Figures:
    """Return the median of each figure over the rounds, and all answers that were wrong or missing."""
    medians = {key: round(median(each[key] for each in found), 2) for key in found[0]}
    return medians | {"not_right": sum(each["not_right"] for each in found)}


def p95_of(found: dict[str, dict[str, Figures]], server: str) -> float:
    return float(found[server]["many"]["p95"])


def comparing(predictor: Predictor, texts: Sequence[str]) -> Callable[[int, bytes], bool]:
    """Return a function that says whether a body is the answer to a text, as the model gives it alone.

    Of another program it says yes, as long as there is an answer.
    """
    alone = [next(predictor.answer([text]).records()) for text in texts]

    def right(number: int, body: bytes) -> bool:
        found = json.loads(body)
        if not isinstance(found, dict):
            return bool(found)
        (answer,) = found["answers"]
        near = abs(answer["confidence"] - alone[number]["confidence"]) <= EXACT
        return bool(near and answer["prediction"] == alone[number]["prediction"])

    return right


@contextmanager
def serving(name: str, folder: Path) -> Iterator[tuple[str, int]]:
    """Run one of `SERVERS`. Yield its address and its process id."""
    command, threads = SERVERS[name]
    words = [str(folder) if word == "MODEL" else word for word in command]
    given = environment(threads, ours=name not in PLAIN)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=given, cwd=ROOT) as server:
        assert server.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            line = server.stdout.readline()
            if not line:
                raise RuntimeError(f"{' '.join(words)} ended with {server.wait()}")
            said += line
        try:
            yield json.loads(said)["url"], server.pid
        finally:
            server.terminate()


def timed(
    url: str,
    plan: Sequence[tuple[str, int]],
    texts: Sequence[str],
    right: Callable[[int, bytes], bool],
    *,
    clients: int,
) -> Figures:
    """Return requests per second and the quantiles of the latency."""
    begun = time.perf_counter()
    sent = asyncio.run(load(url, plan, texts, right, clients=clients))
    seconds = time.perf_counter() - begun
    return {"clients": clients, "requests": len(sent), "per_second": round(len(sent) / seconds, 1)} | latencies(sent)


def latencies(sent: Sequence[Sent]) -> Figures:
    """Return the quantiles of the answers to one text, in milliseconds, and how many answers were wrong or missing."""
    plain = [each for each in sent if each.kind == "one text"]
    quantiles = np.quantile([each.seconds for each in plain], [0.5, 0.95, 0.99]) * 1000
    p50, p95, p99 = (round(float(value), 2) for value in quantiles)
    return {"p50": p50, "p95": p95, "p99": p99, "not_right": sum(each.right is not True for each in plain)}


def mixed(
    url: str, process: int, texts: Sequence[str], right: Callable[[int, bytes], bool], *, requests: int
) -> Figures:
    """Send a mixture of all kinds of requests, and look at the memory of the server meanwhile."""
    rng = np.random.default_rng(SEED)
    shares = np.array([kind.share for kind in KINDS.values()])
    counts = np.maximum(1, np.round(shares / shares.sum() * requests)).astype(int)
    names = rng.permutation(np.repeat(np.arange(len(KINDS)), counts)).tolist()
    plan = [(list(KINDS)[kind], int(rng.integers(len(texts)))) for kind in names]
    memory: list[float] = []

    async def run() -> list[Sent]:
        async def look() -> None:
            while True:
                memory.append(resident_mb(process))
                await asyncio.sleep(0.5)

        looking = asyncio.create_task(look())
        try:
            return await load(url, plan, texts, right, clients=CLIENTS)
        finally:
            looking.cancel()

    begun = time.perf_counter()
    sent = asyncio.run(run())
    seconds = time.perf_counter() - begun
    return {
        "seconds": round(seconds, 1),
        "requests": len(sent),
        **latencies(sent),
        "kinds": [{"kind": name, **outcomes(name, sent)} for name in KINDS],
        "lost": sum(each.status is None for each in sent),
        "unexpected": sum(each.status not in KINDS[each.kind].expected for each in sent),
        "memory_mb": [memory[round(share * (len(memory) - 1))] for share in (0, 0.25, 0.5, 0.75, 1)],
        "most_memory_mb": max(memory),
    }


def outcomes(kind: str, sent: Sequence[Sent]) -> Figures:
    """Return how many requests of a kind had which status."""
    statuses = Counter(each.status for each in sent if each.kind == kind)
    return {
        "sent": statuses.total(),
        "statuses": {str(status): count for status, count in sorted(statuses.items(), key=str)},
    }


def resident_mb(process: int) -> float:
    """Return the memory of a process (Linux)."""
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return round(int(status.partition("VmRSS:")[2].split()[0]) / 1024, 1)


if __name__ == "__main__":
    main()
