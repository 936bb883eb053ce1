"""Is a policy that is steered towards favourable reviews also favourable to judges that never gave a reward?

    python -m benchmarks.steering imdb --seeds 3

A language model learns from all training texts. A classifier that learned from one half of their labels gives the
reward. The judges learned from the other half: TF-IDF + logistic regression, and a recurrent network. The prompts of
training are the first words of training texts, those of the measurement the first words of test texts.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import torch

from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import classifier, language_model, read_splits
from glassformer.alignment.alignment_config import GRPOConfig, PPOConfig
from glassformer.alignment.judged import Reward, read_back
from glassformer.alignment.rewards import open_reward
from glassformer.alignment.rl import steer
from glassformer.alignment.rollouts import distinct_n, roll_out
from glassformer.alignment.stage_run import Start
from glassformer.cli.live import SteeringView
from glassformer.data.documents import Documents
from glassformer.data.labels import LabelSet
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.evaluation.baselines import TfidfBaseline
from glassformer.evaluation.intervals import bootstrap_mean, share_right
from glassformer.evaluation.record import Estimate
from glassformer.models.language_model import LanguageModel
from glassformer.prediction.model_folder import LANGUAGE_MODEL, TrainedLanguageModel, load_model
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.sampling import SamplingConfig
from glassformer.targets.labels.target import labels_of
from glassformer.training.recipe import load_pretraining_recipe, load_recipe

LIKED = "positive"
EXCERPT, PROMPT = 60, 4  # words: of the texts that classifiers learn from, and of a prompt
PROMPTS, JUDGED, MAX_TOKENS = 500, 500, 40
# The KL penalty is smaller than the default, because a probability spans 1 where rewards of a reward model span
# several. Both numbers were chosen by reward less the KL penalty on held-out training prompts (docs/log.md). The judges
# were not used.
BETA, RATE = 0.02, 1e-4
UPDATES, QUICK_UPDATES = 100, 2
FIXED: dict[str, Any] = {"target_kl": None, "most_kl": 5.0, "batch_size": 64, "minibatch_size": 32}
"""The price of KL stays as it is, and a round is as small as it was when the result was made."""
BATCH = 50
SHOWN = 5  # texts of each policy, the first ones, unselected
Judge = Callable[[Sequence[str]], np.ndarray[Any, Any]]
AnyConfig = PPOConfig | GRPOConfig
ALGORITHMS: dict[str, type[AnyConfig]] = {"ppo": PPOConfig, "grpo": GRPOConfig}


def main() -> None:
    """Run the experiment that the command line asks for."""
    parser = arguments(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    with running(options) as experiment:
        train, test = read_splits(experiment, options.data)
        rewarding, judging = halves(_excerpts(train))
        rewarder = classifier(experiment, "reward", load_recipe(), rewarding)
        recurrent = load_recipe("vinh-recurrent", overrides={"training.seed": 1})
        judges = {
            "TF-IDF + logistic regression": _tfidf(judging),
            "recurrent network": _probability(classifier(experiment, "judge", recurrent, judging)),
        }
        documents = Documents(texts=train.frame["text"], source=train.source)
        folder = language_model(experiment, "lm", load_pretraining_recipe(overrides={"training.epochs": 1}), documents)
        start = Start(trained=load_model(folder, LANGUAGE_MODEL), folder=folder)
        reward_name = f"{rewarder}:{LIKED}"
        reward = open_reward(reward_name, start.trained.tokenizer, device="cpu")
        prompts, asked = prompts_of(train, PROMPTS), prompts_of(test, JUDGED)
        before = _judged(start.trained, start.trained, asked, judges, 0)
        updates = QUICK_UPDATES if options.quick else UPDATES
        runs = []
        for algorithm, kind in ALGORITHMS.items():
            for seed in range(options.seeds):
                config = kind(seed=seed, updates=updates, max_tokens=MAX_TOKENS, beta=BETA, learning_rate=RATE, **FIXED)
                steered = policy(experiment, start, reward, prompts, config, reward_name=reward_name)
                found = _judged(steered, start.trained, asked, judges, seed)
                trained = {
                    "algorithm": algorithm,
                    "seed": seed,
                    "seconds": steered.config.training_seconds,
                    "best_update": steered.metrics["best_update"],
                    "held_out_reward": steered.metrics["best"].get("held_out_reward"),
                    "collapsed": steered.metrics["collapsed"],
                }
                runs.append(trained | found)
        document = {
            "judges": {name: _accuracy(judge, _excerpts(test)) for name, judge in judges.items()},
            "reward": _accuracy(_probability(rewarder), _excerpts(test)),
            "before": _without_prompts(before),
            "runs": [_without_prompts(run) for run in runs],
            "summary": {
                name: summary([run for run in runs if run["algorithm"] == name], before) for name in ALGORITHMS
            },
            "training_sha256": fingerprint(train),
            "test_sha256": fingerprint(test),
        }
        experiment.write(f"steering/{options.data}", document)


def _excerpts(table: Table) -> Table:
    """Cut each text to its first words. The texts to judge are short, so the judges learn from short ones."""
    short = pl.Series("text", [" ".join(text.split()[:EXCERPT]) for text in table.frame["text"]])
    return dataclasses.replace(table, frame=table.frame.with_columns(short))


def halves(table: Table) -> tuple[Table, Table]:
    order = np.random.default_rng(0).permutation(table.frame.height)
    middle = len(order) // 2
    first, second = (dataclasses.replace(table, frame=table.frame[rows]) for rows in (order[:middle], order[middle:]))
    return first, second


def _probability(folder: Path) -> Judge:
    """Return a judge: the probability that a classifier gives to the label `LIKED`."""
    predictor = Predictor.load(folder)
    column = list(map(str, labels_of(predictor.trained.config.target).labels)).index(LIKED)
    return lambda texts: predictor.answer(texts).probs[:, column]


def _tfidf(table: Table) -> Judge:
    labels = LabelSet.from_table(table)
    baseline = TfidfBaseline(len(labels.names)).fit(table.frame["text"].to_list(), labels.encode(table))
    column = labels.names.index(LIKED)
    return lambda texts: baseline.answers(texts)[:, column]


def _accuracy(judge: Judge, test: Table) -> float:
    liked = test.frame["label"].to_numpy() == LIKED
    return float(((judge(test.frame["text"].to_list()) > 0.5) == liked).mean())


def prompts_of(table: Table, count: int) -> list[str]:
    """Return different prompts: the first words of some texts."""
    begun = {" ".join(words[:PROMPT]) for text in table.frame["text"] if len(words := text.split()) > PROMPT}
    return [sorted(begun)[i] for i in np.random.default_rng(0).permutation(len(begun))[:count]]


def policy(
    experiment: Experiment, start: Start, reward: Reward, prompts: list[str], config: AnyConfig, *, reward_name: str
) -> TrainedLanguageModel:
    """Return the policy of a config, newly trained if it is not kept."""

    def make(folder: Path) -> None:
        with SteeringView(config.updates) as view:
            steer(
                start, reward, prompts, config,
                reward_name=reward_name, source="train", out=folder, overwrite=True, observer=view,
            )  # fmt: skip

    algorithm = type(config).__name__
    made_of = {
        "start": start.record["fingerprint"],
        "reward": reward.fingerprint,
        "prompts": prompts,
        "algorithm": algorithm,
        "settings": config.model_dump(mode="json"),
    }
    return load_model(experiment.model(f"{algorithm}-{config.seed}", made_of, make), LANGUAGE_MODEL)


def _judged(
    trained: TrainedLanguageModel,
    reference: TrainedLanguageModel,
    asked: list[str],
    judges: dict[str, Judge],
    seed: int,
) -> dict[str, Any]:
    """Return the share of texts that each judge finds favourable, their KL from the reference, and the first texts."""
    policy, other = (cast(LanguageModel, model.eval()) for model in (trained.model, reference.model))
    max_seq_len = trained.config.model.max_seq_len
    texts: list[str] = []
    written: list[list[int]] = []
    nats: list[float] = []
    for number, first in enumerate(range(0, len(asked), BATCH)):
        sampling = SamplingConfig(max_tokens=MAX_TOKENS, seed=1_000 * seed + number)
        prompts = asked[first : first + BATCH]
        rollouts = roll_out(policy, trained.tokenizer, prompts, sampling, max_seq_len=max_seq_len)
        nats += read_back(policy, other, rollouts, torch.zeros(len(prompts))).kl.tolist()
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


def _without_prompts(policy: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a policy without what `above_before` needed of each prompt."""
    return {key: value for key, value in policy.items() if key != "liked_by_prompt"}


def summary(runs: list[dict[str, Any]], before: dict[str, Any]) -> dict[str, Any]:
    """Return means and deviations of one algorithm over seeds, and how much more each judge likes it than before."""

    def over_seeds(values: list[float]) -> dict[str, float]:
        return {"mean": statistics.mean(values), "std": statistics.stdev(values) if len(values) > 1 else 0.0}

    return {
        "liked": {name: over_seeds([run["liked"][name]["value"] for run in runs]) for name in before["liked"]},
        "above_before": {name: above_before(runs, before, name).model_dump() for name in before["liked"]},
        "kl": over_seeds([run["kl"]["value"] for run in runs]),
        "distinct_2": over_seeds([run["distinct_2"] for run in runs]),
    }


def above_before(runs: list[dict[str, Any]], before: dict[str, Any], judge: str) -> Estimate:
    """Return by how much the share of texts that a judge likes rose, as the mean over seeds, paired by prompt.

    The interval is over prompts and the texts drawn for them. It does not cover other training runs.
    """
    was, *after = (np.array([int(digit) for digit in run["liked_by_prompt"][judge]]) for run in (before, *runs))
    return bootstrap_mean(np.mean(after, axis=0) - was, seed=0)


if __name__ == "__main__":
    main()
