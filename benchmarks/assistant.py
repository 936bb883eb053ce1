"""The ways to an assistant, by the exact judge: best of n, DPO, PPO and GRPO, with every stage trained anew per seed.

    python -m benchmarks.assistant --seeds 5

The data are the opinions of `polarity`, and the grammar that generated them judges the answers. Each stage runs by its
command with its defaults. Two more policies, at hardly any price of KL, show what a reward is worth far from the start:
one learned from preferences alone, and the default. Finished stages are kept in the work folder.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

from benchmarks.experiment import Experiment, arguments, running
from glassformer.alignment.answers import EXACT, Figures, exact_verdicts
from glassformer.alignment.judged import best_of
from glassformer.alignment.rewards import open_reward
from glassformer.evaluation.intervals import wilson
from glassformer.prediction.model_folder import LANGUAGE_MODEL, load_model
from glassformer.prediction.sampling import SamplingConfig

ANSWERS, SHOWN, MAX_TOKENS = 500, 5, 32
BEST_OF = (4, 16)
POLICIES = ("dpo", "ppo", "grpo")
LOOSE = [word for setting in ("beta=0.02", "target_kl=none", "most_kl=99") for word in ("--set", f"training.{setting}")]
"""Settings that let a policy move far from its start, to show what its reward is worth there."""
QUESTION = "how is the acting?"


def main() -> None:
    """Run the experiment that the command line asks for."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--from-seed", type=int, default=0, help="with several processes, each has seeds of its own")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    torch.set_num_threads(options.threads)
    with running(options) as experiment:
        seeds = range(options.from_seed, options.from_seed + (1 if options.quick else options.seeds))
        runs = [_run(experiment, seed, options.threads) for seed in seeds]
        worst = {
            stage: {name: min(run["stages"][stage][name]["value"] for run in runs) for name in EXACT}
            for stage in runs[0]["stages"]
        }
        means = {
            stage: {
                name: sum(run["stages"][stage][name]["value"] for run in runs) / len(runs) for name in (*EXACT, "kl")
            }
            for stage in runs[0]["stages"]
        }
        name = "assistant" if options.threads == 1 else f"assistant-{options.threads}-threads"
        short, few = _quick(experiment)
        loose = _loose(_folder(experiment, seeds[0], options.threads), few, short) if seeds[0] == 0 else {}
        experiment.write(name, {"answers": ANSWERS, "mean": means, "worst": worst, "loose": loose, "runs": runs})


def _folder(experiment: Experiment, seed: int, threads: int) -> Path:
    return experiment.work / f"assistant-{threads}" / f"seed-{seed}"


def _quick(experiment: Experiment) -> tuple[list[str], list[str]]:
    """Return what makes the stages, and reinforcement learning, short in a trial."""
    return (["--set", "training.max_steps=5"], ["--set", "training.updates=1"]) if experiment.quick else ([], [])


def _run(experiment: Experiment, seed: int, threads: int) -> dict[str, Any]:
    """Train every stage with a seed, and measure the answers of each."""
    folder, (short, few) = _folder(experiment, seed, threads), _quick(experiment)
    pairs = folder / "pairs"
    _stage(pairs / "pairs.jsonl", "align", "pairs", "polarity", "--chosen", "positive", "--out", pairs)
    make = ["--seed", seed, "--device", "cpu", "--out"]
    lm, sft, reward = folder / "lm", folder / "sft", folder / "reward"
    _stage(lm, "pretrain", "polarity", "--preset", "tiny", *make, lm, *short)
    _stage(sft, "align", "sft", lm, pairs / "pairs.jsonl", *make, sft, *short)
    _stage(reward, "align", "reward", sft, pairs / "preferences.jsonl", *make, reward, *short)
    _stage(folder / "dpo", "align", "dpo", sft, pairs / "preferences.jsonl", *make, folder / "dpo", *short)
    for algorithm in ("ppo", "grpo"):
        steered = folder / algorithm
        _stage(steered, "align", "rl", sft, "--reward", reward, "--algorithm", algorithm, *make, steered, *few)
    models = [sft, *(folder / name for name in POLICIES)]
    said = _glassformer(
        "align", "evaluate", *models, "--reward", reward, "--answers", ANSWERS, "--max-tokens", MAX_TOKENS,
        "--device", "cpu", "--json",
    )  # fmt: skip
    measured: dict[str, Figures] = {Path(name).name: found for name, found in json.loads(said)["models"].items()}
    return {
        "seed": seed,
        "stages": {"sft": measured["sft"], **_best_of(sft, reward), **{name: measured[name] for name in POLICIES}},
        "reward": json.loads((reward / "metrics.json").read_text())["best"],
        "first_answers": {stage: _texts(folder / stage) for stage in ("lm", "sft", "ppo")},
    }


def _loose(folder: Path, few: list[str], short: list[str]) -> dict[str, list[dict[str, float]]]:
    """Steer by a reward from preferences alone, and by the default, at hardly any price of KL."""
    sft, naive, found = folder / "sft", folder / "naive-reward", {}
    make = ["--seed", 0, "--device", "cpu", "--out"]
    naive_settings = ("corruptions=false", "members=1", "text_weight=0")
    alone = [word for setting in naive_settings for word in ("--set", f"training.{setting}")]
    _stage(naive, "align", "reward", sft, folder / "pairs" / "preferences.jsonl", *make, naive, *alone, *short)
    for name, judge in (("preferences alone", naive), ("corrupted answers too", folder / "reward")):
        steered = folder / f"loose-{judge.name}"
        _stage(steered, "align", "rl", sft, "--reward", judge, *make, steered, *LOOSE, *few)
        found[name] = _evaluations(steered)
    return found


def _evaluations(folder: Path) -> list[dict[str, float]]:
    history = json.loads((folder / "metrics.json").read_text())["history"]
    return [row for row in history if "held_out_reward" in row]


def _best_of(sft: Path, reward_folder: Path) -> dict[str, Figures]:
    """Measure the best of n answers by the reward."""
    trained = load_model(sft, LANGUAGE_MODEL)
    reward = open_reward(str(reward_folder), trained.tokenizer, device="cpu")
    prompts = sorted({json.loads(line)["prompt"] for line in (sft.parent / "pairs" / "pairs.jsonl").open()})
    found = {}
    for n in BEST_OF:
        asked = [prompts[i % len(prompts)] for i in range(ANSWERS)]
        sampling = SamplingConfig(max_tokens=MAX_TOKENS, seed=1)
        window = trained.config.model.max_seq_len
        best, _ = best_of(n, trained.model, trained.tokenizer, reward, asked, sampling, max_seq_len=window)
        verdicts = exact_verdicts(best)
        shares = {name: wilson(sum(right), ANSWERS).model_dump() for name, right in verdicts.items()}
        # the bound of its KL (Stiennon et al. 2020, appendix G.3; Beirami et al. 2024)
        found[f"best of {n}"] = shares | {"kl": {"value": math.log(n) - (n - 1) / n}}
    return found


def _texts(folder: Path) -> list[str]:
    said = _glassformer(
        "generate", folder, QUESTION, "--samples", SHOWN, "--max-tokens", MAX_TOKENS, "--device", "cpu", "--json"
    )
    return [text["continuation"] for text in json.loads(said)["texts"]]


def _stage(made: Path, *words: object) -> None:
    """Run a command, unless its result is there."""
    if not (made / "config.json").exists() and not made.is_file():
        _glassformer(*words, "--overwrite")


def _glassformer(*words: object) -> str:
    command = [sys.executable, "-m", "glassformer", *map(str, words)]
    print(*command[2:], file=sys.stderr)
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
