"""`glassformer pretrain`: train a language model on texts."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from glassformer.cli.given import given_settings
from glassformer.cli.options import OfLanguageModel, OutFolder, Running, TextColumn, Tuned
from glassformer.cli.output import doing, model_in_words, print_json, say, show
from glassformer.cli.resume import resumable
from glassformer.cli.there import table
from glassformer.cli.torchrun import join, leads
from glassformer.data.wording import counted, duration
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.prediction.model_folder import TrainedLanguageModel
    from glassformer.training.pretrain import PreparedTexts
    from glassformer.training.recipe import PretrainingRecipe

_OBJECTIVES: dict[str, dict[str, Any]] = {
    "causal": {"model.attention": "causal"},
    "masked": {"model.attention": "full", "training.replaced": False},
    "replaced": {"model.attention": "full", "training.replaced": True},
}


def pretrain(
    data: Annotated[
        str, typer.Argument(callback=table, help="A text file, a table with a column of texts, or a known data set.")
    ],
    out: OutFolder,
    objective: Annotated[
        str | None,
        typer.Option(
            help="causal: learn to predict the next token (default). masked: learn to fill in hidden tokens. replaced: "
            "learn to find the tokens that a smaller model filled in."
        ),
    ] = None,
    text: TextColumn = None,
    *,
    recipe: OfLanguageModel,
    tuned: Tuned,
    prompt: Annotated[
        str, typer.Option(help="Beginning of the sample text that the model writes after each epoch.")
    ] = "",
    run: Running,
) -> None:
    """Train a language model on texts, from scratch."""
    from glassformer.training.out_folder import prepare_out

    if leads():
        prepare_out(out, **run.again)
    processes, target = join(run.device)
    from glassformer.cli.live import LiveView
    from glassformer.data.documents import read_documents
    from glassformer.prediction.generation import check_prompts
    from glassformer.training.pretrain import pretrain as pretrain_on

    chosen = _choose(recipe.recipe, recipe.preset, given_settings(recipe.set_, tuned), objective)
    check_prompts([prompt])
    if prompt and not chosen.model.causal:
        raise UsageError("--prompt: a masked language model writes no samples; leave it out")
    doing(f"reading {data}")
    documents = read_documents(data, run.data_dir, text=text)
    doing("splitting the texts, learning a vocabulary, encoding the texts")
    with resumable(out), LiveView() as view:
        trained = pretrain_on(
            documents,
            chosen,
            out=out,
            **run.again,
            device=target,
            observer=view,
            on_prepared=lambda prepared: _introduce(prepared, chosen, target, view.line),
            prompt=prompt,
            processes=processes,
        )
    _show_result(trained, out, json=run.json)


def _choose(
    recipe: str | None, preset: str | None, overrides: dict[str, Any], objective: str | None
) -> PretrainingRecipe:
    """Return the recipe with the objective of --objective. Raises `UsageError` if the two contradict each other."""
    from glassformer.training.recipe import load_pretraining_recipe

    if objective is not None and objective not in _OBJECTIVES:
        raise UsageError(f"--objective {objective}: there are {', '.join(_OBJECTIVES)}")
    chosen = load_pretraining_recipe(recipe, preset=preset, overrides=overrides)
    if objective is None:
        return chosen
    attention = "causal" if chosen.model.causal else "full"
    found = {"model.attention": attention, "training.replaced": chosen.training.replaced}
    wanted = {name: value for name, value in _OBJECTIVES[objective].items() if found[name] != value}
    for name in wanted:
        if name in overrides or chosen.model.design != "language-model":
            what, value = (name, found[name]) if name in overrides else ("model.design", chosen.model.design)
            raise UsageError(f"--objective {objective} contradicts {what} = {value!r}; leave out one")
    return load_pretraining_recipe(recipe, preset=preset, overrides=overrides | wanted) if wanted else chosen


def _show_result(trained: TrainedLanguageModel, out: Path, *, json: bool) -> None:
    from glassformer.training.pretrain import figures_in_words

    best, config = trained.metrics["best"], trained.config
    if json:
        record = {"model": str(out), "training_seconds": config.training_seconds, "data": config.data}
        print_json(record | {"best": best, "history": trained.metrics["history"]})
        return
    measured = f"on held-out texts {figures_in_words(best)}" if "validation_loss" in best else "nothing was held out"
    show(f"{out}: {measured}; trained in {duration(config.training_seconds)}")
    if config.model.causal:
        say(f'next: glassformer generate {shlex.quote(str(out))} "how it begins"')


def _introduce(prepared: PreparedTexts, recipe: PretrainingRecipe, device: str, tell: Callable[[str], None]) -> None:
    train, held_out = prepared.train, prepared.validation
    tell(f"data: {train.source}, {counted(len(train.texts), 'text')} to train on")
    for note in train.notes:
        tell(f"  {note}")
    if held_out is not None:
        tell(f"  held out: {counted(len(held_out.texts), 'text')}")
    elif recipe.validation.fraction:
        tell(f"  nothing is held out: fewer than {recipe.validation.min_rows:,} texts")
    else:
        tell("  nothing is held out, as the recipe says")
    tell(
        f"  {prepared.tokens:,} tokens of a {recipe.tokenizer.kind} vocabulary of "
        f"{prepared.vocab_size:,}, {train.n_bytes / max(1, prepared.tokens):.2f} bytes each"
        + (f", {prepared.unknown:.1%} of them unknown" if prepared.unknown else "")
    )
    tell(f"model: {model_in_words(prepared.parameters, recipe.model, device)}")
    doing("starting to train")
