"""`glassformer align evaluate`: measure the answers of language models, stage by stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.hints import is_file
from glassformer.cli.options import Asking
from glassformer.cli.output import doing, print_json, print_table, say, show
from glassformer.cli.there import model_folders, reward_name, text_file
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.alignment.stage_run import Start


def evaluate(
    models: Annotated[
        list[Path],
        typer.Argument(
            callback=model_folders,
            help="The folders of language models, such as the stages of alignment. The first is the start.",
        ),
    ],
    prompts: Annotated[
        Path | None,
        typer.Option(
            callback=text_file,
            help="A file with one prompt per line, as text or JSON. Default: the prompts that the last model learned.",
        ),
    ] = None,
    reward: Annotated[
        str | None,
        typer.Option(callback=reward_name, help="Also give this reward, and its referee's: see `align rl --reward`."),
    ] = None,
    answers: Annotated[int, typer.Option(min=2, max=100_000, help="Number of answers of each model.")] = 500,
    max_tokens: Annotated[int, typer.Option(min=1, help="Maximum number of tokens of an answer.")] = 32,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    *,
    run: Asking,
) -> None:
    """Measure the answers of language models: how well formed, how varied, how far from the first model."""
    from glassformer.alignment.answers import NAMES, SHARES, before_and_after, measure_answers
    from glassformer.alignment.rewards import open_reward
    from glassformer.alignment.steering import check_room

    target = run.place
    doing(f"reading {models[0]}")
    stages = [open_start(folder) for folder in models]
    first, tokenizer = stages[0], stages[0].trained.tokenizer
    for stage in stages[1:]:
        if stage.trained.tokenizer.vocabulary() != tokenizer.vocabulary():
            raise UsageError(f"{stage.folder} has another vocabulary than {first.folder}; evaluate it on its own")
    asked, source = prompts_of(stages[-1], prompts)
    window = min(stage.shape.max_seq_len for stage in stages)
    check_room(asked, tokenizer, max_tokens, window)
    judge = None if reward is None else open_reward(reward, tokenizer, device=target)
    start = first.trained.model.to(target)
    measured = {}
    for stage in stages:
        doing(f"{stage.folder} answers")
        measured[str(stage.folder)] = measure_answers(
            stage.trained.model.to(target), tokenizer, asked,
            start=start, count=answers, max_tokens=max_tokens, max_seq_len=window, seed=seed, reward=judge,
        )  # fmt: skip
    if run.json:
        print_json({"prompts": source, "answers": answers, "seed": seed, "models": measured})
        return
    names = list(next(iter(measured.values())))
    rows = [["", *measured]]
    for name in names:
        form = ".0%" if name in SHARES else ".2f"
        cells = [figures[name] for figures in measured.values()]
        rows.append([NAMES[name], *(f"{c['value']:{form}} ({c['low']:{form}} to {c['high']:{form}})" for c in cells)])
    print_table(rows)
    if len(stages) > 1:
        last = stages[-1]
        changes = before_and_after(measured[str(first.folder)], measured[str(last.folder)])
        show(f"{first.folder} → {last.folder}: {changes}")
    if "well_formed" not in names:
        say("no exact judge: only the questions of polarity have one. Read some answers, too")


def open_start(folder: Path) -> Start:
    """Read a causal language model."""
    from glassformer.alignment.stage_run import Start
    from glassformer.prediction.model_folder import LANGUAGE_MODEL, load_model

    start = Start(trained=load_model(folder, LANGUAGE_MODEL), folder=folder)
    _ = start.shape  # refuse a model that is not causal before opening anything else
    return start


def prompts_of(start: Start, given: Path | None) -> tuple[list[str], str]:
    """Return the prompts and the name of their file.

    Without a given file, they are the prompts of the records that the model was fine-tuned on. A model that was only
    pre-trained, or steered from the empty prompt, has the empty prompt and no file.
    """
    from glassformer.alignment.pairs import read_prompts
    from glassformer.alignment.stage_run import records_fingerprint

    if given is not None:
        return read_prompts(given), str(given)
    config = start.trained.config
    if config.init is None or config.records.fingerprint == records_fingerprint([""]):
        return [""], ""
    source = config.records.source
    if not is_file(source):
        gone = f"the records that it learned from, {source}, are not there" if source else "it names no file of prompts"
        raise UsageError(f"{start.folder}: {gone}; name one with --prompts")
    return read_prompts(Path(source)), source
