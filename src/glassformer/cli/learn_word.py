"""`glassformer learn-word`: add words to a model by their definitions."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.flags import as_flags
from glassformer.cli.options import Shown
from glassformer.cli.output import doing, print_json, print_table, say, show
from glassformer.cli.there import model_folder, text_file
from glassformer.data.wording import counted, listed
from glassformer.errors import UsageError, brief

if TYPE_CHECKING:
    from glassformer.words.dictionary import Dictionary
    from glassformer.words.learners import Learner
    from glassformer.words.new_words import Entry, Lesson

_SHOWN = 10
_APART = 0.02  # the cosines of the nearest words differ by less: the list tells nothing


def learn_word(
    model: Annotated[Path, typer.Argument(callback=model_folder, help="The folder of a classifier or language model.")],
    word: Annotated[str | None, typer.Argument(help="The word to learn.")] = None,
    definition: Annotated[str | None, typer.Option(help="What the word means, in words that the model knows.")] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            callback=text_file, help="A table with the columns word and definition, to learn many words at once."
        ),
    ] = None,
    dictionary: Annotated[
        str | None,
        typer.Option(
            help="wordnet, or a table like that of --file. From its definitions of known words, the "
            "model learns to turn a definition into an embedding."
        ),
    ] = None,
    dictionary_dir: Annotated[
        Path | None, typer.Option(help="Folder of WordNet, if it is not in a usual place.")
    ] = None,
    depth: Annotated[
        int,
        typer.Option(
            min=0,
            help="Unknown words in a definition are looked up in the dictionary too, and so are those in their "
            "definitions. Number of such levels.",
        ),
    ] = 2,
    out: Annotated[Path | None, typer.Option(help="The model folder to write. Default: MODEL-words.")] = None,
    *,
    shown: Shown,
) -> None:
    """Teach a model new words by their definitions. This writes a new model folder."""
    if (word is None) == (file is None):
        raise UsageError("give one word, or --file with many")
    if definition is not None and file is not None:
        raise UsageError("--definition needs a single word; a file has a column definition")
    if word is not None and not (definition or "").strip() and dictionary is None:
        raise UsageError(f"what does {word!r} mean? Say it with --definition, or name a --dictionary")
    if dictionary_dir is not None and dictionary is None:
        raise UsageError("--dictionary-dir goes with --dictionary wordnet")
    from glassformer.words.dictionary import open_dictionary
    from glassformer.words.learners import load_learner, read_card
    from glassformer.words.new_words import check_new, learn_words, save_lesson

    target = _beside(model) if out is None else out
    doing(f"reading {model}")
    trained = load_learner(model)
    check_new(target)
    if asked := _asked_in_place_of_the_transformer(trained):
        say(f"warning: the model answers by {asked} alone, so a new word changes none of its answers")
    look_up = None if dictionary is None else open_dictionary(dictionary, dictionary_dir)
    entries = _entries(word, definition, file, defined=look_up is None)
    doing("learning")
    lesson = learn_words(trained, entries, look_up, depth=depth)
    save_lesson(lesson, target, card=read_card(model))
    _say_how(lesson, look_up)
    if shown.json:
        words = [
            learned.new.model_dump()
            | {"nearest": learned.nearest, "unknown": learned.unknown, "in_pieces": learned.in_pieces}
            for learned in lesson.words
        ]
        report = None if lesson.map is None else asdict(lesson.map)
        left_out = {word: as_flags(reason) for word, reason in lesson.left_out.items()}
        print_json({"model": str(target), "words": words, "left_out": left_out, "map": report})
        return
    _show(lesson)
    show(f"\n{target}: {model} and {counted(len(lesson.words), 'word')} more")
    if (command := _next(lesson, shlex.quote(str(target)))) is not None:
        say(f"next: glassformer {command}")


def _asked_in_place_of_the_transformer(trained: Learner) -> str:
    from glassformer.prediction.folder_config import FolderConfig

    config = trained.config
    return config.asked_in_words if isinstance(config, FolderConfig) and config.transformer_is_silent else ""


def _next(lesson: Lesson[Learner], model: str) -> str | None:
    """Return a command that uses the new model, or None if there is none for this kind of model."""
    from glassformer.data.inputs import example_of
    from glassformer.prediction.folder_config import FolderConfig

    config, word = lesson.trained.config, shlex.quote(lesson.words[0].new.word)
    if isinstance(config, FolderConfig):
        return f"predict {model} {word if config.inputs is None else example_of(config.inputs)}"
    return f"generate {model} {word}" if config.model.causal else None


def _beside(model: Path) -> Path:
    named = model if model.name.strip(".") else model.resolve()
    return named.parent / f"{named.name}-words"


def _entries(word: str | None, definition: str | None, file: Path | None, *, defined: bool) -> Sequence[Entry]:
    from glassformer.words.dictionary import read_definitions
    from glassformer.words.new_words import Entry

    if file is None:
        return [Entry(word=(word or "").strip(), definition=(definition or "").strip() or None)]
    return [Entry(word=name, definition=meaning) for name, meaning in read_definitions(file, defined=defined)]


def _say_how(lesson: Lesson[Learner], dictionary: Dictionary | None) -> None:
    """Say how the embeddings were made, how good the method is, and which words were left out."""
    report = lesson.map
    if report is not None:
        say(
            f"map: fitted on {report.words:,} known words; cosine to the true embedding of "
            f"{report.held_out:,} words held out: {report.cosine:.3f} "
            f"(average of the definition's embeddings {report.cosine_of_average:.3f}, "
            f"mean embedding {report.cosine_of_mean:.3f})"
        )
    else:
        why = (
            "without --dictionary there are no definitions of known words to fit a map on"
            if dictionary is None
            else f"{dictionary.name} defines too few of the words that the model knows"
        )
        say(f"no map: {why}; each new word gets the average of the embeddings of its definition's words")
    for learned in lesson.words[:_SHOWN]:
        if learned.unknown:
            say(f"unknown in the definition of {learned.new.word!r}: {_listed(learned.unknown)}")
        if learned.in_pieces:
            pieces = _listed(learned.in_pieces)
            say(f"read in pieces in the definition of {learned.new.word!r}: {pieces}; pieces carry little meaning")
    for count, (word, reason) in enumerate(lesson.left_out.items()):
        if count < _SHOWN:
            say(f"left out: {word!r}, {as_flags(reason)}")
    if len(lesson.left_out) > _SHOWN:
        say(f"left out: {counted(len(lesson.left_out) - _SHOWN, 'word')} more (--json lists them)")


def _show(lesson: Lesson[Learner]) -> None:
    """Show each new word with the known words nearest to it."""
    shown = lesson.words[:_SHOWN]
    lines = [(learned.new.word, _near(learned.nearest)) for learned in shown]
    of_what = "words" if lesson.trained.config.tokenizer.kind == "word" else "words, or what words begin with"
    print_table([("new word", f"nearest known {of_what}, by cosine"), *lines], others=str.ljust)
    if len(lesson.words) > _SHOWN:
        show(f"and {counted(len(lesson.words) - _SHOWN, 'word')} more (--json lists them)")


def _near(nearest: Sequence[tuple[str, float]]) -> str:
    """Return the nearest words, or say that they tell nothing."""
    if len(nearest) > 1 and nearest[0][1] - nearest[-1][1] < _APART:
        within = f"within {_APART:.2f} of each other ({nearest[0][1]:.2f})"
        return f"none clearly: the {len(nearest):,} nearest lie {within}"
    return "  ".join(f"{name} {cosine:.2f}" for name, cosine in nearest) or "none"


def _listed(words: Sequence[str]) -> str:
    """Return the first words, each without its end if it is long."""
    return listed([*map(brief, words)], _SHOWN)
