"""Is a policy that is steered towards favourable reviews judged favourable by judges that never gave reward?

    python -m benchmarks.steering imdb --seeds 3

A language model learns from all training texts; a classifier that learned from one half of their labels gives the
reward; the judges learned from the other half: TF-IDF + logistic regression, and a recurrent network. Prompts are the
first words of training texts, those that are judged of test texts. Finished models are kept in --work: a stopped
benchmark goes on where it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import torch

from benchmarks.experiment import Experiment, arguments, model_folder
from benchmarks.models import classifier, language_model, some_rows
from glassformer.alignment.alignment_config import GRPOConfig, PPOConfig
from glassformer.alignment.divergence import categorical_kl
from glassformer.alignment.diversity import distinct_n
from glassformer.alignment.judged import Reward
from glassformer.alignment.rewards import open_reward
from glassformer.alignment.rl import steer
from glassformer.alignment.rollouts import Rollouts, read_rollouts, roll_out
from glassformer.alignment.stage_run import Start
from glassformer.cli.steering import SteeringView
from glassformer.data.documents import Documents
from glassformer.data.known import resolve
from glassformer.data.labels import LabelSet
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.evaluation.baselines import TfidfBaseline
from glassformer.evaluation.intervals import bootstrap_mean, share_right
from glassformer.evaluation.result import Estimate
from glassformer.models.language_model import LanguageModel
from glassformer.prediction.model_folder import LANGUAGE_MODEL, TrainedLanguageModel, load_model
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.sampling import SamplingConfig
from glassformer.training.recipe import load_pretraining_recipe, load_recipe

LIKED = "positive"
EXCERPT, PROMPT = 60, 4  # words: of the texts that classifiers learn from, and of a prompt
PROMPTS, JUDGED, MAX_TOKENS = 500, 500, 40
# A probability spans 1, where rewards of a reward model span several: a nat must cost less of it. Chosen, as the rate,
# by reward less the price of KL on held-out training prompts (docs/log.md); the judges had no part in it.
BETA, RATE = 0.02, 1e-4
BATCH = 50
SHOWN = 5  # texts by each policy, the first ones, uncurated
Judge = Callable[[Sequence[str]], np.ndarray[Any, Any]]
ALGORITHMS: dict[str, type[PPOConfig] | type[GRPOConfig]] = {"ppo": PPOConfig, "grpo": GRPOConfig}


def main() -> None:
    """Run the experiment that the command line asks for."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=1, help="of pre-training")
    parser.add_argument("--updates", type=int, default=100)
    options = parser.parse_args()
    with Experiment(options) as experiment:
        work = experiment.work / f"steering-{options.data}"
        train, test = (some_rows(resolve(options.data, split), options.rows) for split in ("train", "test"))
        rewarding, judging = halves(_excerpts(train))
        rewarder = classifier(work, "reward", load_recipe(), rewarding)
        recurrent = load_recipe("vinh-recurrent", overrides={"training.seed": 1})
        judges = {
            "TF-IDF + logistic regression": _tfidf(judging),
            "recurrent network": _probability(classifier(work, "judge", recurrent, judging)),
        }
        recipe = load_pretraining_recipe(overrides={"training.epochs": options.epochs})
        folder = language_model(work, "lm", recipe, Documents(texts=train.frame["text"], source=train.source))
        start = Start(trained=load_model(folder, LANGUAGE_MODEL), folder=folder)
        settings = {"updates": options.updates, "max_tokens": MAX_TOKENS, "beta": BETA, "learning_rate": RATE}
        configs = [
            (name, kind(seed=seed, **settings)) for name, kind in ALGORITHMS.items() for seed in range(options.seeds)
        ]
        before, runs = steered_and_judged(start, rewarder, judges, configs, train, test, work)
        document = {
            "benchmark": f"steering, {options.data}",
            "judges": {name: _right(judge, _excerpts(test)) for name, judge in judges.items()},
            "reward": _right(_probability(rewarder), _excerpts(test)),
            "language_model": start.trained.metrics["best"],
            "before": before,
            "runs": runs,
            "summary": {
                name: summary([run for run in runs if run["algorithm"] == name], before) for name in ALGORITHMS
            },
            "training_sha256": fingerprint(train),
            "test_sha256": fingerprint(test),
        }
        experiment.write(f"steering/{options.data}", document)


def steered_and_judged(
    start: Start,
    rewarder: Path,
    judges: dict[str, Judge],
    configs: Sequence[tuple[str, PPOConfig | GRPOConfig]],
    train: Table,
    test: Table,
    work: Path,
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What is found before, and of the policy by each config."""
    prompts, asked = prompts_of(train, PROMPTS), prompts_of(test, JUDGED)
    name = f"{rewarder}:{LIKED}"
    reward = open_reward(name, start.trained.tokenizer, device="cpu")
    runs = []
    for algorithm, config in configs:
        steered = policy(start, reward, prompts, config, reward_name=name, work=work)
        found = _judged(steered, start.trained, asked, judges, seed=config.seed)
        runs.append(_described(algorithm, config.seed, steered) | found)
    return _judged(start.trained, start.trained, asked, judges, seed=0), runs


def _excerpts(table: Table) -> Table:
    """The first words of every text: judged texts are short, so what judges them learns from short ones."""
    short = pl.Series("text", [" ".join(text.split()[:EXCERPT]) for text in table.frame["text"]])
    return dataclasses.replace(table, frame=table.frame.with_columns(short))


def halves(table: Table) -> tuple[Table, Table]:
    order = np.random.default_rng(0).permutation(table.frame.height)
    middle = len(order) // 2
    first, second = (dataclasses.replace(table, frame=table.frame[rows]) for rows in (order[:middle], order[middle:]))
    return first, second


def _probability(folder: Path) -> Judge:
    """The probability that a classifier gives to the label that is liked."""
    predictor = Predictor.load(folder)
    column = list(map(str, predictor.trained.config.labels)).index(LIKED)
    return lambda texts: predictor.answer(texts).probs[:, column]


def _tfidf(table: Table) -> Judge:
    labels = LabelSet.from_table(table)
    baseline = TfidfBaseline(len(labels.names)).fit(table.frame["text"].to_list(), labels.encode(table))
    column = labels.names.index(LIKED)
    return lambda texts: baseline.predict_proba(texts)[:, column]


def _right(judge: Judge, test: Table) -> float:
    """Accuracy on the beginnings of test texts."""
    liked = test.frame["label"].to_numpy() == LIKED
    return float(((judge(test.frame["text"].to_list()) > 0.5) == liked).mean())


def prompts_of(table: Table, count: int) -> list[str]:
    """The first words of some texts, all of them different."""
    begun = {" ".join(words[:PROMPT]) for text in table.frame["text"] if len(words := text.split()) > PROMPT}
    return [sorted(begun)[i] for i in np.random.default_rng(0).permutation(len(begun))[:count]]


def policy(
    start: Start, reward: Reward, prompts: list[str], config: PPOConfig | GRPOConfig, *, reward_name: str, work: Path
) -> TrainedLanguageModel:
    """The policy that is kept, or a new one."""

    def make(folder: Path) -> None:
        with SteeringView(config.updates) as view:
            steer(
                start, reward, prompts, config,
                reward_name=reward_name, source="train", out=folder, overwrite=True, observer=view,
            )  # fmt: skip

    made_of = {
        "start": start.record["fingerprint"],
        "reward": reward.fingerprint,
        "prompts": prompts,
        "algorithm": type(config).__name__,
        "settings": config.model_dump(mode="json"),
    }
    name = f"{type(config).__name__.removesuffix('Config').lower()}-{config.seed}"
    return load_model(model_folder(work, name, made_of, make), LANGUAGE_MODEL)


def _described(algorithm: str, seed: int, steered: TrainedLanguageModel) -> dict[str, Any]:
    """What is known of a policy before it is judged."""
    return {
        "algorithm": algorithm,
        "seed": seed,
        "settings": steered.config.recipe,
        "seconds": steered.config.training_seconds,
        "best_update": steered.metrics["best_update"],
        "held_out_reward": steered.metrics["best"].get("held_out_reward"),
        "collapsed": steered.metrics["collapsed"],
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
    policy, other = (cast(LanguageModel, each.model.eval()) for each in (trained, reference))
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
        logits, others = (read_rollouts(model, rollouts)[0][mask] for model in (policy, other))
        nats += torch.zeros(mask.shape).masked_scatter(mask, categorical_kl(logits, others)).sum(dim=1).tolist()
        texts += rollouts.texts
        written += rollouts.completion_ids
    liked = {name: judge(texts) > 0.5 for name, judge in judges.items()}
    return {
        "liked": {name: share_right(found, seed=0).model_dump() for name, found in liked.items()},
        "liked_by_prompt": {name: "".join(map(str, found.astype(int))) for name, found in liked.items()},
        "kl": bootstrap_mean(np.array(nats), seed=0).model_dump(),
        "distinct_2": distinct_n(written, 2),
        "distinct_3": distinct_n(written, 3),
        "length": float(np.mean([len(ids) for ids in written])),
        "texts": texts[:SHOWN],
    }


def summary(runs: list[dict[str, Any]], before: dict[str, Any]) -> dict[str, Any]:
    """Of one algorithm: means and standard deviations over seeds, and how much more each judge likes than before."""

    def over_seeds(values: list[float]) -> dict[str, float]:
        return {"mean": float(np.mean(values)), "std": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0}

    return {
        "liked": {name: over_seeds([run["liked"][name]["value"] for run in runs]) for name in before["liked"]},
        "above_before": {name: above_before(runs, before, name).model_dump() for name in before["liked"]},
        "kl": over_seeds([run["kl"]["value"] for run in runs]),
        "distinct_2": over_seeds([run["distinct_2"] for run in runs]),
    }


def above_before(runs: list[dict[str, Any]], before: dict[str, Any], judge: str) -> Estimate:
    """By how much the share of texts that a judge likes rose: of each prompt, the mean over seeds of after less before.

    The interval is over prompts and what was drawn for them. Of how much training varies it knows nothing.
    """
    after, was = (
        np.array([[int(digit) for digit in judged["liked_by_prompt"][judge]] for judged in of_it])
        for of_it in (runs, [before])
    )
    return bootstrap_mean((after - was).mean(axis=0), seed=0)


if __name__ == "__main__":
    main()
