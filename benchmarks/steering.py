"""Is a policy that is steered towards favourable reviews judged favourable by judges that never gave reward?

    python benchmarks/steering.py imdb --seeds 3

A language model learns from all training texts; a classifier that learned from one half of their labels gives the
reward; the judges learned from the other half: TF-IDF + logistic regression, and a recurrent network. Prompts are the
first words of training texts, those that are judged of test texts. Stages that are done are kept in --work and not
repeated; after a change of the code, empty that folder. With --rows it is a trial on some of the rows, and its figures
are left in --work.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import torch
from provenance import RESULTS, commit, provenance

from glassformer.alignment.config import GRPOConfig, PPOConfig
from glassformer.alignment.divergence import categorical_kl
from glassformer.alignment.diversity import distinct_n
from glassformer.alignment.rewards import open_reward
from glassformer.alignment.rl import steer
from glassformer.alignment.rollouts import Rollouts, read_rollouts, roll_out
from glassformer.alignment.runs import Start
from glassformer.cli.live import LiveView
from glassformer.cli.steering import SteeringView
from glassformer.data.documents import Documents
from glassformer.data.known import resolve
from glassformer.data.labels import LabelSet
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.evaluation.baselines import TfidfBaseline
from glassformer.evaluation.intervals import bootstrap_mean, share_right
from glassformer.models.language_model import LanguageModel
from glassformer.prediction.language_folder import TrainedLanguageModel, load_language_model
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.sampling import SamplingConfig
from glassformer.training.pretrain import pretrain
from glassformer.training.recipe import Recipe, load_pretraining_recipe, load_recipe
from glassformer.training.run import train_classifier
from glassformer.training.sources import Sources

LIKED = "positive"
EXCERPT, PROMPT = 60, 4  # words: of the texts that classifiers learn from, and of a prompt
PROMPTS, JUDGED, MAX_TOKENS = 500, 500, 40
BATCH = 50
SHOWN = 5  # texts by each policy, the first ones, uncurated
Judge = Callable[[Sequence[str]], np.ndarray[Any, Any]]
ALGORITHMS: dict[str, type[PPOConfig] | type[GRPOConfig]] = {"ppo": PPOConfig, "grpo": GRPOConfig}


def main() -> None:
    """Run the experiment that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="a known data set with the labels positive and negative")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=1, help="of pre-training")
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--rows", type=int, help="a trial on so many training and test rows")
    parser.add_argument("--work", type=Path, default=Path("runs/steering"), help="folder for models and finished runs")
    options = parser.parse_args()
    at = commit()
    train, test = (_some(resolve(options.data, split), options.rows) for split in ("train", "test"))
    work: Path = options.work / (options.data + (f"-{options.rows}" if options.rows else ""))
    rewarding, judging = _halves(_excerpts(train))
    _classifier(rewarding, load_recipe(), work / "reward")
    judges = {
        "TF-IDF + logistic regression": _tfidf(judging),
        "recurrent network": _recurrent(judging, work / "judge"),
    }
    language_model = _language_model(train, options.epochs, work / "lm")
    prompts = _prompts(train, PROMPTS)
    asked = _prompts(test, JUDGED)
    runs = [
        _run(language_model, work, algorithm, seed, options.updates, prompts, asked, judges)
        for algorithm in ALGORITHMS
        for seed in range(options.seeds)
    ]
    document = {
        "benchmark": f"steering, {options.data}",
        "judges": {name: _right(judge, _excerpts(test)) for name, judge in judges.items()},
        "reward": _right(_probability(Predictor.load(work / "reward")), _excerpts(test)),
        "language_model": language_model.metrics["best"],
        "before": _judged(language_model, language_model, asked, judges, seed=0),
        "runs": runs,
        "summary": {
            name: _summary([run for run in runs if run["algorithm"] == name], list(judges)) for name in ALGORITHMS
        },
        "training_sha256": fingerprint(train),
        "test_sha256": fingerprint(test),
        **provenance(at),
    }
    file = work / "result.json" if options.rows else RESULTS / "steering" / f"{options.data}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(document["summary"], indent=1))
    print(file)


def _some(table: Table, rows: int | None) -> Table:
    if rows is None or rows >= table.frame.height:
        return table
    return dataclasses.replace(table, frame=table.frame.sample(rows, seed=0, shuffle=True))


def _excerpts(table: Table) -> Table:
    """The first words of every text: judged texts are short, so what judges them learns from short ones."""
    short = pl.Series("text", [" ".join(text.split()[:EXCERPT]) for text in table.frame["text"]])
    return dataclasses.replace(table, frame=table.frame.with_columns(short))


def _halves(table: Table) -> tuple[Table, Table]:
    order = np.random.default_rng(0).permutation(table.frame.height)
    middle = len(order) // 2
    first, second = (dataclasses.replace(table, frame=table.frame[rows]) for rows in (order[:middle], order[middle:]))
    return first, second


def _classifier(table: Table, recipe: Recipe, folder: Path) -> Predictor:
    """The one in the folder, or a new one."""
    if not (folder / "config.json").is_file():
        with LiveView() as view:
            train_classifier(Sources(train=table), recipe, out=folder, overwrite=True, observer=view)
    return Predictor.load(folder)


def _recurrent(table: Table, folder: Path) -> Judge:
    recipe = load_recipe("vinh-recurrent", overrides={"training.seed": 1})
    return _probability(_classifier(table, recipe, folder))


def _probability(predictor: Predictor) -> Judge:
    column = list(map(str, predictor.trained.config.labels)).index(LIKED)
    return lambda texts: predictor.answer(texts).probs[:, column]


def _tfidf(table: Table) -> Judge:
    labels = LabelSet.from_table(table)
    baseline = TfidfBaseline(len(labels.names)).fit(table.frame["text"].to_list(), labels.encode(table))
    column = labels.names.index(LIKED)
    return lambda texts: baseline.predict_proba(texts)[:, column]


def _right(judge: Judge, test: Table) -> float:
    """Accuracy on the test texts, as long as those that it judges here."""
    liked = test.frame["label"].to_numpy() == LIKED
    return float(((judge(test.frame["text"].to_list()) > 0.5) == liked).mean())


def _language_model(train: Table, epochs: int, folder: Path) -> TrainedLanguageModel:
    """The one in the folder, or a new one of all training texts."""
    if not (folder / "config.json").is_file():
        recipe = load_pretraining_recipe(overrides={"training.epochs": epochs})
        with LiveView() as view:
            documents = Documents(texts=train.frame["text"], source=train.source)
            pretrain(documents, recipe, out=folder, overwrite=True, observer=view)
    return load_language_model(folder)


def _prompts(table: Table, count: int) -> list[str]:
    """The first words of some texts, all of them different."""
    begun = {" ".join(words[:PROMPT]) for text in table.frame["text"] if len(words := text.split()) > PROMPT}
    return [sorted(begun)[i] for i in np.random.default_rng(0).permutation(len(begun))[:count]]


def _run(
    start: TrainedLanguageModel,
    work: Path,
    algorithm: str,
    seed: int,
    updates: int,
    prompts: list[str],
    asked: list[str],
    judges: dict[str, Judge],
) -> dict[str, Any]:
    """One policy, steered and judged."""
    folder = work / f"{algorithm}-{seed}"
    name = f"{work / 'reward'}:{LIKED}"
    if not (folder / "config.json").is_file():
        config = ALGORITHMS[algorithm](seed=seed, updates=updates, max_tokens=MAX_TOKENS)
        fresh = Start(trained=load_language_model(work / "lm"), folder=work / "lm")
        with SteeringView(updates) as view:
            steer(
                fresh, open_reward(name, start.tokenizer, device="cpu"), prompts, config,
                reward_name=name, source="train", out=folder, overwrite=True, observer=view,
            )  # fmt: skip
    steered = load_language_model(folder)
    rewards = steered.metrics["best"]
    return {
        "algorithm": algorithm,
        "seed": seed,
        "settings": steered.config.recipe,
        "seconds": steered.config.training_seconds,
        "best_update": steered.metrics["best_update"],
        "held_out_reward": rewards.get("held_out_reward"),
        "collapsed": steered.metrics["collapsed"],
        **_judged(steered, start, asked, judges, seed=seed),
    }


@torch.no_grad()
def _judged(
    trained: TrainedLanguageModel,
    reference: TrainedLanguageModel,
    asked: list[str],
    judges: dict[str, Judge],
    *,
    seed: int,
) -> dict[str, Any]:
    """The share of texts that each judge finds favourable, how far they are from the reference, and some of them."""
    policy, before = (cast(LanguageModel, one.model.eval()) for one in (trained, reference))
    texts: list[str] = []
    written: list[list[int]] = []
    nats: list[float] = []
    for number, first in enumerate(range(0, len(asked), BATCH)):
        sampling = SamplingConfig(max_tokens=MAX_TOKENS, seed=1_000 * seed + number)
        rollouts: Rollouts = roll_out(
            policy, trained.tokenizer, asked[first : first + BATCH], sampling,
            max_seq_len=trained.config.model.max_seq_len,
        )  # fmt: skip
        mask = rollouts.loss_mask
        logits, others = (read_rollouts(model, rollouts)[0][mask] for model in (policy, before))
        nats += torch.zeros(mask.shape).masked_scatter(mask, categorical_kl(logits, others)).sum(dim=1).tolist()
        texts += rollouts.texts
        written += rollouts.completion_ids
    liked = {name: judge(texts) > 0.5 for name, judge in judges.items()}
    return {
        "liked": {name: share_right(bits, seed=0).model_dump() for name, bits in liked.items()},
        "kl": bootstrap_mean(np.array(nats), seed=0).model_dump(),
        "distinct_2": distinct_n(written, 2),
        "distinct_3": distinct_n(written, 3),
        "length": float(np.mean([len(ids) for ids in written])),
        "texts": texts[:SHOWN],
    }


def _summary(runs: list[dict[str, Any]], judges: list[str]) -> dict[str, Any]:
    """Mean and standard deviation over seeds."""

    def over_seeds(values: list[float]) -> dict[str, float]:
        return {"mean": float(np.mean(values)), "std": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0}

    return {name: over_seeds([run["liked"][name]["value"] for run in runs]) for name in judges} | {
        key: over_seeds([run[key] if key != "kl" else run["kl"]["value"] for run in runs])
        for key in ("kl", "distinct_2")
    }


if __name__ == "__main__":
    main()
