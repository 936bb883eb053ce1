"""What a kind of answer knows of its exports: each fills this in, in a file `exporting.py` (see `targets/parts.py`)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from glassformer.data.table import Table
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.model_folder import TrainedModel
from glassformer.targets.answers import Answers

Checked = Mapping[str, Any]
"""How the answers of an export agree with those of its model, as its `config.json` keeps it."""


@dataclass(frozen=True, kw_only=True)
class Expressed:
    """What exports of a kind of answer depend on.

    Attributes:
        compared: compares the answers of a model, and then those of its export, to rows whose labels are known.
        changed: returns why these are other answers. None if they are as good as the same.
        line: returns the factor and the addend that make the answer of the transformer alone of each of its scores.
            It raises `UsageError` if the library transformers cannot express it.
        about: returns what the `config.json` of that library holds about the answers.
        in_pipelines: returns what a pipeline of that library is given besides, and a sentence about its answers.
        page: returns what a page that answers in a browser needs to know.
        page_module: the module of `page/` that says what scores mean.
    """

    compared: Callable[[FolderConfig, Answers, Answers, Table], dict[str, Any]]
    said: Callable[[Checked], str]
    changed: Callable[[Checked], str | None]
    line: Callable[[TrainedModel], tuple[float, float]]
    about: Callable[[FolderConfig], dict[str, Any]]
    in_pipelines: Callable[[FolderConfig], tuple[str, str]]
    page: Callable[[TrainedModel], dict[str, Any]]
    page_module: str


def expressed(config: FolderConfig) -> Expressed:
    """Return what exports of a model depend on."""
    return config.target.part("exporting")
