"""The task of a training run: what --target, --task and --order say, or what the label column holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from glassformer.cli.flags import as_flags
from glassformer.cli.output import say
from glassformer.errors import UsageError

if TYPE_CHECKING:
    from glassformer.data.sources import SourceConfig


def chosen_task(
    source: SourceConfig, target: str | None = None, task: str | None = None, order: str | None = None
) -> SourceConfig:
    """Return the source with its task, and say what was found by content.

    Raises:
        UsageError: the flags contradict each other, or the table cannot be read.
    """
    from glassformer.data.sources import Task
    from glassformer.data.tasks import find_task
    from glassformer.data.wording import names_in

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


def refuse_for_number(command: str, **given: object) -> None:
    """Raise `UsageError` if an option was given that means nothing for a number.

    Args:
        given: the values of such options by their names; None and False mean not given.
    """
    if names := [f"--{name.replace('_', '-')}" for name, value in given.items() if value]:
        raise UsageError(f"{names[0]} is for models that answer with labels; leave it out to {command} a number")
