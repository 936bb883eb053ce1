"""Train a model further on rows that were added later: what it starts from, and which rows it learns again."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from glassformer.data.addresses import local_path, without_password
from glassformer.data.columns import same_column
from glassformer.data.documents import rows_without_label
from glassformer.data.known import check_source, is_there
from glassformer.data.labels import ordered_labels
from glassformer.data.sources import SourceConfig, Sources, read_sources
from glassformer.data.table import Table, first_rows
from glassformer.errors import UsageError, quoted
from glassformer.evaluation.seen_rows import seen_rows, split_again
from glassformer.models.model_config import HUB, SeveralTextsConfig
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.folder_format import format_of
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model
from glassformer.targets.labels.target import labels_of
from glassformer.training.initial_weights import InitialWeights, kept_rules
from glassformer.training.own_text import reads_without_labels
from glassformer.training.recipe import Recipe, load_recipe

_AGAIN = "Train a new model on all rows, with one table of old and new ones"


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """What a run begins with: its rows, how it learns them, and the weights to start from, if any.

    Attributes:
        unread: the texts without labels that the model has read, by name. The run reads them only if they are added.
    """

    source: SourceConfig
    sources: Sources
    recipe: Recipe
    init: InitialWeights | None
    unread: tuple[str, ...] = ()


def add_to(
    folder: Path,
    added: str,
    *,
    replay: float,
    settings: Mapping[str, Any],
    order: tuple[str, ...] | None = None,
    encoding: str | None = None,
    data_dir: Path | None = None,
) -> Beginning:
    """Prepare the further training of a model on its old rows and those of a table.

    The recipe is that of the model, and holds out the same rows. If the model held out no rows, there
    are no weights to start from: it has learned all rows, so nothing could judge it after further training.

    Args:
        added: the table. Its columns are those of the training table.
        settings: settings of the recipe by dotted name, which replace those of the model.
        order: ordered classes from lowest to highest, old and new ones. None: those of the model.
        encoding: that of all tables, old and new. None: that of the model.

    Raises:
        UsageError: the model or the table is of a kind that does not go with this, or the old rows cannot be read.
    """
    if str(folder).startswith(HUB):
        raise UsageError(f"`add=`: {folder} is a checkpoint without rows of its own; `init=` names a model folder here")
    if not folder.is_dir():
        raise UsageError(f"`init={str(folder)!r}`: no such model folder")
    if format_of(folder) not in FolderConfig.formats.values():
        raise UsageError(f"`add=`: {folder} is no classifier and no model of a number; rows are added to such a model")
    check_source(added)
    added = without_password(added)
    trained = load_model(folder, CLASSIFIER)
    source = _rows_of(trained.config, folder, data_dir)
    if encoding is not None:
        source = _in_encoding(source, encoding, trained.config, data_dir)
    _check_share(replay)
    update: dict[str, Any] = {"added": (*source.added, added), "replay": replay}
    if order is not None:
        if not trained.config.target.ordered:
            raise UsageError(f"`order=`: {folder} has learned no ordered classes; leave it out")
        update["order"] = order
    source = source.model_copy(update=update)
    validation = trained.config.remembered.recipe.validation
    try:
        sources = read_sources(source, validation, data_dir, inputs=trained.config.inputs)
    except UsageError as error:
        if (label := _lacks_label(added, trained.config)) is not None:
            raise UsageError(
                f"{added} has no column {quoted(label)}, from which {folder} learned its labels. Name its column of "
                "labels so, or fill one in; `glassformer predict` answers texts without labels"
            ) from error
        raise
    kept = {f"model.{name}": file for name, file in kept_rules(folder, trained).items()}
    recipe, init = _further(trained, sources, {**kept, **settings}, str(folder))
    read = [trained.config.data.get(what, {}).get("unlabelled", ()) for what in ("body", "pretraining")]
    own = (source.train, *source.added)  # their rows without a label are read again by themselves
    unread = [name for name in dict.fromkeys(chain.from_iterable(read)) if name not in own]
    unread = unread if reads_without_labels(recipe) else []
    return Beginning(source=source, sources=sources, recipe=recipe, init=init, unread=tuple(unread))


def _in_encoding(source: SourceConfig, encoding: str, config: FolderConfig, data_dir: Path | None) -> SourceConfig:
    """Return the source of the old rows in the encoding of the new ones. Raises `UsageError` if they are in another."""
    source = source.model_copy(update={"encoding": encoding})
    if split_again(config, source, data_dir) is None:
        raise UsageError(
            f"`encoding={encoding!r}`: the old rows of {source.train} are in another encoding, and one holds for all "
            "tables; save the new rows as UTF-8, and leave it out"
        )
    return source


def _lacks_label(added: str, config: FolderConfig) -> str | None:
    """Return the name of the label column if a table file has the column of the texts, and not this one."""
    data = config.remembered.data
    text, label = data.text_column, data.label_column
    if text is None or label is None or not is_there(path := local_path(added)):
        return None
    columns = first_rows(path).columns
    return label if same_column(text, columns) is not None and same_column(label, columns) is None else None


def add_in_memory(
    trained: TrainedModel,
    old: Sources | None,
    new: Table,
    *,
    replay: float,
    settings: Mapping[str, Any],
    order: tuple[str, ...] | None = None,
) -> tuple[Sources, Recipe, InitialWeights | None]:
    """Prepare the same for rows in memory, and a model that can grow (see `check_can_grow`).

    Args:
        old: the rows that the model has learned. None: the model folder that it was read from says where they are.
    """
    _check_share(replay)
    if old is None and trained.config.remembered.read_as is None:
        raise UsageError(
            "`add=`: this model learned rows in memory, which its folder does not hold. A model that learns new rows "
            "alone forgets the old ones. Add them to the classifier that `fit` returned, or train a new one on all rows"
        )
    if old is None:
        source = _rows_of(trained.config, Path("this model"), None)
        old = read_sources(source, trained.config.remembered.recipe.validation, None, inputs=trained.config.inputs)
    if "weight" in old.train.frame.columns:
        raise UsageError(f"`add=`: this model has learned rows with weights, which new rows do not have. {_AGAIN}.")
    unlabelled = (*old.unlabelled, *rows_without_label(new))
    sources = replace(old, added=(*old.added, new), replay=replay, unlabelled=unlabelled)
    if old.train.order is not None:
        ordered = ordered_labels(sources.labelled, order or old.train.order)
        sources = replace(sources, train=replace(old.train, order=ordered))
    recipe, init = _further(trained, sources, settings, "this model")
    if not reads_without_labels(recipe):  # the weights to start from have read them
        sources = replace(sources, unlabelled=())
    return sources, recipe, init


def _further(
    trained: TrainedModel, sources: Sources, settings: Mapping[str, Any], name: str
) -> tuple[Recipe, InitialWeights | None]:
    """Return how a model learns these rows, and the weights to start from: none if it held out no rows."""
    recipe = trained.config.remembered.recipe
    held_out = sources.split(recipe.validation, seed=recipe.training.seed).validation
    if held_out is None and sources.replay < 1:
        raise UsageError(
            f"`replay={sources.replay:g}`: {name} held out no rows, so training begins anew and needs all old rows; "
            "leave it out"
        )
    init = None if held_out is None else replace(InitialWeights.of(trained, name), labels=trained.config.target.outputs)
    return _recipe(trained.config, init, settings), init


def _check_share(replay: float) -> None:
    if not 0 <= replay <= 1:
        raise UsageError(f"`replay={replay:g}`: give a share from 0 to 1")


def _rows_of(config: FolderConfig, folder: Path, data_dir: Path | None) -> SourceConfig:
    """Return where the rows of a model come from, if they are still there."""
    check_can_grow(config, str(folder))
    remembered = config.remembered
    found = seen_rows(config, data_dir, fetch=True)
    if isinstance(found, str) or remembered.read_as is None:
        raise UsageError(
            f"`add=`: {found}. A model that learns new rows alone forgets the old ones, so they are needed too. "
            f"Put the old table back in its place. Or {_AGAIN[0].lower()}{_AGAIN[1:]}."
        )
    return remembered.read_as


def check_can_grow(config: FolderConfig, name: str) -> None:
    """Raise `UsageError` if rows cannot be added to such a model."""
    if "teacher" in config.data:
        raise UsageError(f"`add=`: {name} learned from another model and not from labels. {_AGAIN}.")
    if config.remembered.recipe.validation.time is not None:
        raise UsageError(f"`add=`: {name} holds out the latest rows, and new rows may be later. {_AGAIN}.")


def _recipe(config: FolderConfig, init: InitialWeights | None, settings: Mapping[str, Any]) -> Recipe:
    own: dict[str, Any] = {}
    for section in ("training", "validation", *(() if init else ("model", "tokenizer", "pretraining"))):
        values = config.recipe.get(section) or {}
        own |= {f"{section}.{name}": value for name, value in values.items() if value is not None}
    if own.get("training.costs"):  # as the model reads them: a new label may have the name of what asks a person
        own["training.costs"] = [row.model_dump() for row in labels_of(config.target).costs]
    if isinstance(config.model, SeveralTextsConfig):  # training makes it of our own design (see `recipe_for_inputs`)
        own = {name: value for name, value in own.items() if name not in ("model.design", "model.texts")}
    return load_recipe(overrides=own | dict(settings), init=init)
