"""`glassformer align`: fine-tune a language model, train a reward model, and optimise a policy by rewards."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.align_evaluate import evaluate, open_start, prompts_of
from glassformer.cli.given import given_settings
from glassformer.cli.hints import check_order
from glassformer.cli.options import (
    Again,
    Asking,
    Computing,
    DataDir,
    Json,
    LabelColumn,
    LearningRate,
    OutFolder,
    Seed,
    Settings,
    Shown,
    TextColumn,
    Tuned,
    expanded,
)
from glassformer.cli.output import doing, insist, print_json, say, show
from glassformer.cli.resume import resumable
from glassformer.cli.there import model_folder, reward_name, table, text_file
from glassformer.cli.writers import check_folder
from glassformer.data.wording import counted, duration
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.alignment.alignment_config import FineTuningConfig
    from glassformer.alignment.stage_run import Records
    from glassformer.prediction.model_folder import TrainedLanguageModel

app = typer.Typer(help="Fine-tune a language model on example answers, then with rewards.", no_args_is_help=True)

app.command("evaluate")(expanded(evaluate))

Model = Annotated[Path, typer.Argument(callback=model_folder, help="The folder of a causal language model.")]
Preferences = Annotated[
    Path, typer.Argument(callback=text_file, help='JSON lines of {"prompt": …, "chosen": …, "rejected": …}.')
]


@dataclass(frozen=True, kw_only=True)
class _Stage(Shown, Again, Computing, Tuned):
    """The options of sft, reward and dpo."""

    set_: Settings = None


@app.command("pairs")
@expanded
def pairs(
    data: Annotated[str, typer.Argument(callback=table, help="A table of labelled texts, or a known data set.")],
    chosen: Annotated[str, typer.Option(help="The label of the preferred texts.")],
    out: Annotated[Path, typer.Option(help="The folder for pairs.jsonl and preferences.jsonl.")],
    rejected: Annotated[
        str | None, typer.Option(help="The label of the rejected texts. Default: all other labels.")
    ] = None,
    prompt_words: Annotated[
        int | None,
        typer.Option(
            min=0, help="Number of first words of a text that become its prompt. Default: 3; for polarity, a question."
        ),
    ] = None,
    text: TextColumn = None,
    label: LabelColumn = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed. It decides which texts are paired.")] = 0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the records in --out.")] = False,
    data_dir: DataDir = None,
    json: Json = False,
) -> None:
    """Make the files for sft, reward and dpo (prompts with completions, and preferences) from labelled texts."""
    from glassformer.alignment.tables import cut, from_table, question, write_records
    from glassformer.data.known import resolve

    check_folder(out)
    files = out / "pairs.jsonl", out / "preferences.jsonl"
    if not overwrite and (there := [file for file in files if file.exists()]):
        raise UsageError(f"{there[0]} is already there; choose another --out, or --overwrite to replace it")
    doing(f"reading {data}")
    table = resolve(data, "train", data_dir, text=text, label=label)
    asked = data == "polarity" and prompt_words is None
    words = 3 if prompt_words is None else prompt_words
    split = question if asked else partial(cut, words=words)
    doing("making pairs")
    made = from_table(table, split, chosen=chosen, rejected=rejected, seed=seed)
    if not made.preferences:
        raise UsageError(
            f"{data}: no two texts of both sides begin with the same {words} words; try a smaller --prompt-words"
        )
    write_records(files[0], made.pairs)
    write_records(files[1], made.preferences)
    if json:
        counts = {"pairs": len(made.pairs), "preferences": len(made.preferences)}
        print_json({"out": str(out), **counts, "too_short": made.too_short, "without_partner": made.without_partner})
        return
    show(f"{files[0]}: {len(made.pairs):,} prompts with their completions")
    show(f"{files[1]}: {len(made.preferences):,} preferences, {chosen!r} over the other")
    if made.too_short:
        say(f"  left out: {made.too_short:,} × a text of no more than {words} words")
    if made.without_partner:
        why = "there is no unused text of the other label with the same beginning"
        say(f"  in no preference: {made.without_partner:,} × {why}")


@app.command("sft")
@expanded
def sft(
    model: Model,
    data: Annotated[
        Path,
        typer.Argument(callback=text_file, help='JSON lines of {"prompt": …, "completion": …} or {"messages": […]}.'),
    ],
    out: OutFolder,
    stage: _Stage,
) -> None:
    """Supervised fine-tuning: train a language model to answer prompts."""
    _check(model, data, out, stage)
    from glassformer.alignment.alignment_config import FineTuningConfig
    from glassformer.alignment.pairs import read_pairs
    from glassformer.alignment.stages import fine_tune

    with _run(FineTuningConfig, model, out, stage) as run:
        records = read_pairs(data)
        trained = fine_tune(run, records, source=str(data))
    held_out = trained.metrics["best"].get("validation_loss")
    measured = "nothing was held out" if held_out is None else f"loss {held_out:.4f} on held-out completions"
    _show_writer(trained, out, measured, records[0].prompt, json=stage.json)


@app.command("reward")
@expanded
def reward(
    model: Model,
    data: Preferences,
    out: OutFolder,
    stage: _Stage,
) -> None:
    """Train a reward model, which says which of two completions is better."""
    _check(model, data, out, stage)
    from glassformer.alignment.alignment_config import RewardConfig
    from glassformer.alignment.pairs import read_preferences
    from glassformer.alignment.stages import train_reward_model

    with _run(RewardConfig, model, out, stage) as run:
        trained = train_reward_model(run, read_preferences(data), source=str(data))
    best = trained.metrics["best"]
    if stage.json:
        print_json({"model": str(out), "best": best, "history": trained.metrics["history"]})
        return
    show(f"{out}: {_preferred(best)}; trained in {duration(trained.config.training_seconds)}")
    if run.start.trained.config.init is None:
        say(_pretrained_only(model))
        return
    say(f"next: glassformer align rl {shlex.quote(str(model))} --reward {shlex.quote(str(out))} --out FOLDER")


@app.command("dpo")
@expanded
def dpo(
    model: Model,
    data: Preferences,
    out: OutFolder,
    stage: _Stage,
) -> None:
    """Train a language model on preferences directly, without a reward model (DPO)."""
    _check(model, data, out, stage)
    from glassformer.alignment.alignment_config import DPOConfig
    from glassformer.alignment.pairs import read_preferences
    from glassformer.alignment.stages import prefer

    with _run(DPOConfig, model, out, stage) as run:
        records = read_preferences(data)
        trained = prefer(run, records, source=str(data))
    _show_writer(trained, out, _preferred(trained.metrics["best"]), records[0].prompt, json=stage.json)


@app.command("rl")
@expanded
def rl(
    model: Model,
    reward: Annotated[
        str,
        typer.Option(
            callback=reward_name,
            help="The reward: the folder of a reward model, CLASSIFIER_FOLDER:LABEL, or FILE.py:FUNCTION.",
        ),
    ],
    out: OutFolder,
    algorithm: Annotated[str, typer.Option(help="The algorithm, ppo or grpo.")] = "ppo",
    prompts: Annotated[
        Path | None,
        typer.Option(
            callback=text_file,
            help="A file with one prompt per line, as text or JSON. Default: the prompts that it was fine-tuned on.",
        ),
    ] = None,
    set_: Settings = None,
    learning_rate: LearningRate = None,
    seed: Seed = None,
    *,
    again: Again,
    run: Asking,
) -> None:
    """Reinforcement learning: train a language model to write texts with a high reward (PPO, GRPO)."""
    from glassformer.training.out_folder import prepare_out

    prepare_out(out, resume=again.resume, overwrite=again.overwrite)
    from glassformer.alignment.alignment_config import GRPOConfig, PPOConfig, configured
    from glassformer.alignment.rewards import open_reward
    from glassformer.alignment.rl import steer
    from glassformer.cli.live import SteeringView

    algorithms: dict[str, type[PPOConfig] | type[GRPOConfig]] = {"ppo": PPOConfig, "grpo": GRPOConfig}
    if algorithm not in algorithms:
        raise UsageError(f"--algorithm {algorithm}: there are {' and '.join(algorithms)}")
    config = configured(algorithms[algorithm], given_settings(set_, learning_rate=learning_rate, seed=seed))
    doing(f"reading {model}")
    start, target = open_start(model), run.place
    if start.trained.config.init is None:
        say(_pretrained_only(model))
    asked, source = prompts_of(start, prompts)
    judge = open_reward(reward, start.trained.tokenizer, device=target)
    said = f"{counted(len(asked), 'prompt')} of {source}" if source else "the empty prompt (name others with --prompts)"
    rounds = counted(config.updates, "round")
    doing("evaluating the starting policy on held-out prompts")
    with resumable(out), SteeringView(config.updates) as view:
        view.line(f"policy: {model}, {said}; reward: {reward}; {rounds} of {algorithm}, on {target}")
        trained = steer(
            start, judge, asked, config,
            reward_name=reward, source=source, out=out, resume=again.resume, overwrite=again.overwrite, device=target,
            observer=view,
        )  # fmt: skip
    _tell_of_steering(trained, out, json=run.json)


def _tell_of_steering(trained: TrainedLanguageModel, out: Path, *, json: bool) -> None:
    metrics = trained.metrics
    if json:
        print_json({"model": str(out), **metrics})
        return
    if metrics["collapsed"]:
        insist(f"warning: {metrics['collapsed']}")
    best, where = metrics["best"], "held-out" if trained.config.data["held_out"] else "its"
    found = (
        f"reward {best['held_out_reward']:.4f} on {where} prompts, {best['held_out_kl']:.2f} nats of KL to the start"
        if metrics["best_update"]
        else "no policy had a higher reward than the starting one, which is kept"
    )
    settings = trained.config.recipe["training"]
    beta = settings["beta"]
    if beta and settings["target_kl"] is None and not (metrics["best_update"] or metrics["collapsed"]):
        less = beta / 5  # a beta for rewards of several units is too large for rewards that are probabilities
        found += f" (the KL penalty beta is {beta:g}; with --set training.beta={less:g}, it can move further)"
    show(f"{out}: {found}; in {duration(trained.config.training_seconds)}")
    _show_answers(trained)
    say(f"next: glassformer generate {shlex.quote(str(out))}{' PROMPT' if trained.config.data['source'] else ''}")


def _pretrained_only(model: Path) -> str:
    return (
        f"warning: {model} was pre-trained only, so it continues texts, and has not learned to answer prompts. "
        f"Fine-tune it before align rl: glassformer align sft {shlex.quote(str(model))} RECORDS --out FOLDER"
    )


def _show_writer(trained: TrainedLanguageModel, out: Path, measured: str, prompt: str, *, json: bool) -> None:
    """Say what was measured of a language model that learned from records."""
    if json:
        print_json({"model": str(out), **trained.metrics})
        return
    show(f"{out}: {measured}; trained in {duration(trained.config.training_seconds)}")
    _show_answers(trained)
    say(f"next: glassformer generate {shlex.quote(str(out))} {shlex.quote(prompt)}")


def _preferred(best: dict[str, float]) -> str:
    """Say how a model ranks held-out pairs."""
    from glassformer.alignment.stages import reward_figures_in_words

    return f"on held-out pairs {reward_figures_in_words(best)}" if "validation_loss" in best else "nothing was held out"


def _show_answers(trained: TrainedLanguageModel) -> None:
    """Say how the answers changed."""
    from glassformer.alignment.answers import COUNT, before_and_after

    for sentence in trained.metrics.get("signs", []):
        insist(f"warning: {sentence}")
    if answers := trained.metrics["answers"]:
        kl = answers["after"]["kl"]["value"]
        changes = before_and_after(answers["before"], answers["after"])
        show(f"of {COUNT} answers, before → after: {changes}; {kl:.2f} nats of KL per answer")


def _check(model: Path, data: Path, out: Path, stage: _Stage) -> None:
    from glassformer.training.out_folder import prepare_out

    check_order(model, data)
    if not (out.exists() and out.samefile(model)):  # the run says that it reads it
        prepare_out(out, resume=stage.resume, overwrite=stage.overwrite)


@contextmanager
def _run(
    kind: type[FineTuningConfig],
    model: Path,
    out: Path,
    stage: _Stage,
) -> Iterator[Any]:
    """Make the run of sft, reward or dpo, and show its progress."""
    from glassformer.alignment.alignment_config import configured
    from glassformer.alignment.stage_run import Run
    from glassformer.cli.live import LiveView

    config = configured(kind, given_settings(stage.set_, stage))
    target = stage.place
    doing(f"reading {model} and the records")
    with resumable(out), LiveView() as view:
        yield Run(
            start=open_start(model),
            config=config,
            out=out,
            resume=stage.resume,
            overwrite=stage.overwrite,
            device=target,
            observer=view,
            on_prepared=lambda records, parameters: _introduce(records, parameters, target, view.line),
        )


def _introduce(records: Records, parameters: int, device: str, tell: Callable[[str], None]) -> None:
    held_out = f", {records.held_out:,} held out" if records.held_out else ", none held out"
    tell(f"data: {records.source}, {counted(records.train, 'record')} to learn from{held_out}")
    if records.too_long:
        tell(f"  left out: {records.too_long:,} × longer than the model's window")
    tell(f"model: {parameters:,} parameters to train, on {device}")
