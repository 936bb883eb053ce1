"""Whether what a command reads is there. It is asked before the libraries load, so a slip is answered at once."""

from pathlib import Path
from typing import Any

from glassformer.prediction.shipped import folder_of


def model_folder(model: Path) -> Path:
    """Return the folder of a model that the user named. Raises `UsageError` if there is none."""
    folder = folder_of(model)
    if _is_missing(folder):
        from glassformer.prediction.folder_format import check_is_folder

        check_is_folder(folder, command="train")
    return folder


def model_folders(models: list[Path]) -> list[Path]:
    return list(map(model_folder, models))


def table(source: Any) -> Any:
    """Return what names a table or a known data set. Raises `UsageError` if it is a file that is not there.

    What an address names is not fetched yet.
    """
    if source is not None and "://" not in str(source) and _is_missing(Path(source)):
        from glassformer.data.known import check_source

        check_source(str(source))
    return source


def tables(sources: list[str] | None) -> list[str] | None:
    return None if sources is None else [table(source) for source in sources]


def text_file(path: Path | None) -> Path | None:
    """Return a file of texts, or - for standard input. Raises `UsageError` if it is not there."""
    if path is not None and path != Path("-") and _is_missing(path):
        from glassformer.data.rows import check_file

        check_file(path)  # it says what is near
    return path


READ_TEXTS = (table, tables, text_file)
"""What checks an argument of a command that reads tables or texts. The command also has --encoding."""


def weights(init: str | None) -> str | None:
    """Return where the weights come from. Raises `UsageError` if it is a model folder that is not there."""
    from glassformer.prediction.folder_format import check_weights

    if init is not None:
        check_weights(init)
    return init


def classifier_recipe(name_or_path: str | None) -> str | None:
    """Return the recipe of a classifier. Raises `UsageError` if there is none, or its file is no TOML."""
    from glassformer.training.recipe_files import OF_CLASSIFIERS

    return _recipe(name_or_path, OF_CLASSIFIERS)


def language_recipe(name_or_path: str | None) -> str | None:
    from glassformer.training.recipe_files import OF_LANGUAGE_MODELS

    return _recipe(name_or_path, OF_LANGUAGE_MODELS)


def _recipe(name_or_path: str | None, patterns: tuple[str, ...]) -> str | None:
    from glassformer.training.recipe_files import find_recipe, read_recipe

    if name_or_path is not None:
        read_recipe(find_recipe(name_or_path, patterns))
    return name_or_path


def student(into: str) -> str:
    """Return the size or the recipe of a student. Raises `UsageError` if there is none of this name."""
    from glassformer.training.recipe_files import check_student

    check_student(into)
    return into


def reward_name(reward: str | None) -> str | None:
    """Return what names a reward. Raises `UsageError` if it is not there."""
    if reward is not None and not folder_of(Path(reward)).is_dir():
        from glassformer.alignment.reward_names import check_reward

        check_reward(reward)
    return reward


def costs_given(given: list[str] | None) -> list[str] | None:
    """Return what wrong answers cost. Raises `UsageError` for a table that is not there."""
    for each in given or ():
        if "=" not in each and Path(each).suffix:
            table(each)
    return given


def rules_file(path: str | None) -> str | None:
    """Return the file of rules. Raises `UsageError` if it cannot be read, or a line is no rule."""
    if path is not None:
        from glassformer.readers.rules.parsing import lines_of, read_rules

        for _ in lines_of(read_rules(Path(path)), path, "label (a number: -> +2)"):
            pass  # the labels are not known yet
    return path


def _is_missing(path: Path) -> bool:
    try:
        return not path.exists()
    except OSError:  # too long for a path; whatever reads it says so
        return False
