"""The settings of a recipe that a command was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from glassformer.errors import UsageError
from glassformer.training.setting_names import complaint

if TYPE_CHECKING:
    from pydantic import BaseModel

Settings = TypeVar("Settings", bound="BaseModel")

_SETTINGS = {name: f"training.{name}" for name in ("costs", "epochs", "learning_rate", "seed")} | {
    "validation": "validation.file",
    "group": "validation.group",
    "time": "validation.time",
    "pretrain": "pretraining.max_seconds",
    "rules": "model.rules",
}
"""The settings of a recipe that have a flag of their own, by the name of its parameter."""


def given_settings(assignments: list[str] | None, *records: object, **flags: Any) -> dict[str, Any]:
    """Return the given settings of the recipe by dotted name, from --set and from flags such as --epochs.

    Args:
        records: records of options, some of which are such flags.
        flags: the values of other such flags, or None if one was not given.
    """
    from glassformer.training.recipe import parse_overrides

    settings = parse_overrides(assignments or [])
    for record in records:
        flags |= {name: value for name, value in vars(record).items() if name in _SETTINGS}
    for name, value in flags.items():
        if value is None:
            continue
        if (setting := _SETTINGS[name]) in settings:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} and --set {setting} say the same thing twice; leave one out")
        settings[setting] = value
    budget = next((name for name in ("training.max_steps", "training.max_seconds") if name in settings), None)
    if budget and "training.epochs" in settings:
        asked = settings["training.epochs"]
        epochs = f"--set training.epochs={asked}" if flags.get("epochs") is None else f"--epochs {asked}"
        raise UsageError(f"{epochs} and --set {budget}={settings[budget]} both say how long to train; leave one out")
    return settings


def settings_of(kind: type[Settings], **flags: Any) -> Settings:
    """Return settings that are no recipe's. Raises `UsageError` with the flag whose value cannot be."""
    from pydantic import ValidationError

    try:
        return kind(**flags)
    except ValidationError as error:
        first = error.errors()[0]
        flag = str(first["loc"][0]).replace("_", "-")
        raise UsageError(f"--{flag} {first['input']}: {complaint(first)}") from error
