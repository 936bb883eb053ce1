"""Options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from glassformer.cli.flags import as_flags
from glassformer.cli.output import hush, say
from glassformer.cli.there import READ_TEXTS, classifier_recipe, language_recipe, model_folder, table, weights
from glassformer.data.wording import names_in
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.data.sources import SourceConfig, TableOptions
    from glassformer.training.initial_weights import InitialWeights


def _hush(quiet: bool) -> bool:
    if quiet:
        hush()
    return quiet


def _read_as(context: typer.Context, encoding: str | None) -> str | None:
    """Read all tables of the command in an encoding."""
    if encoding is not None:
        from glassformer.data.encodings import reading_as

        context.with_resource(reading_as(encoding))
    return encoding


Model = Annotated[
    Path, typer.Argument(callback=model_folder, help="A model folder, or sentiment-en, which comes with glassformer.")
]
TextColumn = Annotated[str | None, typer.Option(help="Column with the texts. Found automatically if left out.")]
Query = Annotated[
    str | None,
    typer.Option(metavar="<statement>", help="Of a database: the SELECT whose rows are the table. Default: its table."),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="<name>",
        callback=_read_as,
        help="Encoding of all tables and texts that are not UTF-8, such as cp1252. Found automatically.",
    ),
]
SafeCsv = Annotated[
    bool | None,
    typer.Option(
        "--safe-csv/--no-safe-csv", help="Put a ' before cells that are formulas. Default: in files of --out."
    ),
]
LabelColumn = Annotated[str | None, typer.Option(help="Column with the labels. Found automatically if left out.")]
MultilabelAsTrained = Annotated[
    str | None,
    typer.Option(metavar="<separator>", help="Separator between several labels of a text. Default: as in training."),
]
FoldLabels = Annotated[
    bool,
    typer.Option("--fold-labels", help="Read labels that differ only by case or spaces, such as Bug, as the same."),
]
OutFolder = Annotated[Path, typer.Option(help="The model folder to write.")]
Learned = Annotated[
    str, typer.Argument(callback=table, help="A labelled table, or a known data set (its training split).")
]
Measured = Annotated[
    str, typer.Argument(callback=table, help="A labelled table, or a known data set (its test split).")
]
Test = Annotated[str | None, typer.Option(callback=table, help="Your test table. Its texts are left out of training.")]
Group = Annotated[
    str | None,
    typer.Option(help="Column with groups, such as authors: rows of a group are alike, and never held out apart."),
]
Init = Annotated[
    str | None,
    typer.Option(
        callback=weights, help="Start from these weights: a model folder, or hf:NAME for a BERT-like checkpoint."
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="<section.key=value>", help="Change a setting of the recipe. May be repeated."),
]
LearningRate = Annotated[float | None, typer.Option(help="Learning rate. The same as --set training.learning_rate=…")]
Seed = Annotated[int | None, typer.Option(help="Random seed. The same as --set training.seed=…")]
DataDir = Annotated[
    Path | None,
    typer.Option("--data-dir", help="Folder with the known data sets. Default: the variable GLASSFORMER_DATA."),
]
_RECIPE = "Settings of a run: a recipe's name (see `glassformer recipes`) or a TOML file."
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a command writes."""

    quiet: Annotated[bool, typer.Option("--quiet", "-q", callback=_hush, help="Show only errors and the result.")] = (
        False
    )
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class Computing:
    """Where a command computes."""

    device: Annotated[str, typer.Option(help="Where to compute: cpu, cuda, mps or auto.")] = "auto"

    @property
    def place(self) -> str:
        """The device. Raises `UsageError` if it is not on this machine."""
        from glassformer.prediction.devices import choose_device

        return choose_device(self.device)


@dataclass(frozen=True, kw_only=True)
class Where(Computing):
    """Where a command computes, and where the known data sets are."""

    data_dir: DataDir = None


@dataclass(frozen=True, kw_only=True)
class Again:
    """What happens to an earlier run in the folder."""

    resume: Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")] = False
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the model or the unfinished run in --out.")
    ] = False


@dataclass(frozen=True, kw_only=True)
class Asking(Shown, Computing):
    """The last options of a command that asks a model."""


@dataclass(frozen=True, kw_only=True)
class Measuring(Shown, Where):
    """The last options of a command that measures something."""


@dataclass(frozen=True, kw_only=True)
class Running(Shown, Again, Where):
    """The last options of a command that may be stopped and resumed."""

    @property
    def again(self) -> dict[str, Any]:
        """What happens to an earlier run."""
        return {"resume": self.resume, "overwrite": self.overwrite}


@dataclass(frozen=True, kw_only=True)
class FromRecipe:
    """The recipe of a run, and settings in place of its own."""

    recipe: Annotated[str | None, typer.Option(callback=classifier_recipe, help=_RECIPE)] = None
    preset: Annotated[str | None, typer.Option(help="Model size: tiny, small or base.")] = None
    set_: Settings = None


@dataclass(frozen=True, kw_only=True)
class OfLanguageModel(FromRecipe):
    """The same for a language model."""

    recipe: Annotated[str | None, typer.Option(callback=language_recipe, help=_RECIPE)] = None


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """The rows to validate on."""

    validation: Annotated[
        str | None,
        typer.Option(callback=table, help="Your own validation table. Default: some training rows are held out."),
    ] = None
    group: Group = None
    time: Annotated[
        str | None, typer.Option(help="Column with dates. The latest rows are held out, to validate on later ones.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """Settings of training that have a flag of their own."""

    epochs: Annotated[
        int | None, typer.Option(help="Maximum number of epochs. The same as --set training.epochs=…")
    ] = None
    learning_rate: LearningRate = None
    seed: Seed = None


@dataclass(frozen=True, kw_only=True)
class AsTrained:
    """How a labelled table is read for a model. Default: as in training."""

    text: TextColumn = None
    label: LabelColumn = None
    group: Group = None
    multilabel: MultilabelAsTrained = None
    fold_labels: FoldLabels = False
    encoding: Encoding = None
    query: Query = None

    def table(self, data: str) -> str:
        """Return the table with what --query reads of it. Raises `UsageError` if it is not there, or no database."""
        from glassformer.data.addresses import with_query
        from glassformer.data.known import check_source

        data = with_query(data, self.query)
        check_source(data)
        return data

    @property
    def options(self) -> TableOptions:
        """How the library is to read it."""
        from glassformer.data.sources import TableOptions

        return TableOptions(**{each.name: getattr(self, each.name) for each in fields(TableOptions)})


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a labelled table is read."""

    text: Annotated[
        list[str] | None,
        typer.Option(
            "--text",
            help="Column with the texts. Found automatically if left out. Repeat it for rows with two texts or more: "
            "--text question --text answer.",
        ),
    ] = None
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns",
            metavar="<names>",
            help="Columns of categories or numbers to read beside the text, with commas in between: price,shop. May be "
            "repeated. A name with a comma stands in double quotes.",
        ),
    ] = None
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label", help="Column with the labels. Repeat it for levels, the highest first. Default: found."
        ),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            help="Column to learn, in place of --label. Its values decide what that is: a number, ordered classes or "
            "classes."
        ),
    ] = None
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            metavar="<task>",
            help="What to learn: classes, several (labels per text), ordered (classes) or number. Default: with "
            "--target, what the column holds; else classes, or several if cells clearly hold several labels.",
        ),
    ] = None
    order: Annotated[
        str | None,
        typer.Option(
            metavar="<labels>",
            help="Ordered classes from lowest to highest, with commas in between: 'bad,fair,good'. A name with a comma "
            "stands in double quotes. Default: classes that are numbers, by their size.",
        ),
    ] = None
    multilabel: Annotated[
        str | None,
        typer.Option(
            metavar="<separator>",
            help="Texts may have several labels, with this separator in between: '|' for drama|comedy.",
        ),
    ] = None
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="<separator>", help="Separator of levels: ' > ' for Food > Fruit. Default: found by content."
        ),
    ] = None
    fold_labels: FoldLabels = False
    encoding: Encoding = None
    query: Query = None

    def source(
        self, train: str, test: str | None = None, start: InitialWeights | None = None, init: str | None = None
    ) -> SourceConfig:
        """Return the tables of a run with what is to be learned of them, and say what was found by content.

        Args:
            start: the weights of `init`, whose model may say which columns are read.
        """
        from glassformer.data.sources import SourceConfig

        named = self.label or []
        source = SourceConfig(
            train=train,
            query=self.query,
            test=test,
            label=next(iter(named), None),
            lower=tuple(named[1:]),
            multilabel=self.multilabel,
            levels=" > " if self.levels is None and named[1:] else self.levels,
            fold_labels=self.fold_labels,
            encoding=self.encoding,
            **given_inputs(self.text, self.columns),
        ).with_inputs(None if start is None else start.inputs, str(init))
        return _chosen_task(source, self.target, self.task, self.order)


def _chosen_task(source: SourceConfig, target: str | None, task: str | None, order: str | None) -> SourceConfig:
    """Return the source with its task, and say what was found by content."""
    from glassformer.data.sources import Task
    from glassformer.targets.tasks import find_task

    if task is not None and task not in get_args(Task):
        raise UsageError(f"--task {task}: the tasks are {', '.join(get_args(Task))}")
    if target is not None and source.label is not None:
        raise UsageError("--target and --label both name the column to learn; leave one out")
    names = None if order is None else tuple(names_in(order))
    asked = source.model_copy(update={"task": task, "order": names, "label": target or source.label})
    found = find_task(asked, by_content=target is not None)
    if found.said:
        say(as_flags(found.said))
    return found.source


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that has the options of a record, such as `Reading`, in place of a parameter of this type.

    If it reads tables or texts, it also has --encoding.
    """
    own = inspect.signature(command, eval_str=True).parameters
    records: dict[str, Any] = {name: each.annotation for name, each in own.items() if is_dataclass(each.annotation)}
    options = {name: _options(record) for name, record in records.items()}

    @wraps(command)
    def run(**given: Any) -> None:
        if needs_encoding:
            del given["encoding"]  # its callback has seen to it
        for name, record in records.items():
            given[name] = record(**{option.name: given.pop(option.name) for option in options[name]})
        command(**given)

    flat = [option for name, each in own.items() for option in options.get(name, [each])]
    needs_encoding = any(map(_reads_texts, flat)) and "encoding" not in {option.name for option in flat}
    if needs_encoding:
        flat.append(inspect.Parameter("encoding", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Encoding))
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in flat]
    )
    return run


def _reads_texts(option: inspect.Parameter) -> bool:
    described = getattr(option.annotation, "__metadata__", ())
    return any(getattr(each, "callback", None) in READ_TEXTS for each in described)


def _options(record: Any) -> list[inspect.Parameter]:
    types = get_type_hints(record, include_extras=True)
    return [
        inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=types[each.name])
        for each in fields(record)
    ]


def given_inputs(texts: list[str] | None, columns: list[str] | None) -> dict[str, Any]:
    """Return the values of --text and --columns as `SourceConfig` has them."""
    beside = [name for given in columns or [] for name in names_in(given)]
    if columns and not beside:
        raise UsageError("--columns names no column; give names with commas in between: price,shop")
    named = texts or []
    return {"text": next(iter(named), None), "other_texts": tuple(named[1:]), "columns": tuple(beside)}
