"""The rows that a model was trained and validated on, and how many of the measured texts are among them."""

from pathlib import Path

import polars as pl

from glassformer.data.addresses import scheme_of
from glassformer.data.known import KNOWN
from glassformer.data.parts import exists, file_of
from glassformer.data.sources import SourceConfig, read_sources
from glassformer.data.splits import Splits, fingerprint
from glassformer.data.table import Table, text_keys
from glassformer.data.wording import counted
from glassformer.errors import GlassformerError
from glassformer.evaluation.measured import measures_of
from glassformer.prediction.folder_config import FolderConfig

TOO_GOOD = "all figures are too good"
_LITTLE = "figures may be too good"
_MANY = 0.05  # share of the measured texts that were in training


def seen_rows(
    config: FolderConfig, data_dir: Path | None, folder: Path | None = None, *, fetch: bool = False
) -> Splits | str:
    """Read the rows that a model was trained and validated on, or say why this is impossible.

    Args:
        folder: that of the model. Its tables are looked for from there too, as paths hold in the folder that a run was
            started from, which is often one above the model.
        fetch: read addresses too. The folder may be a stranger's, and a server learns who asks, or a password.
    """
    source = config.remembered.read_as
    if source is None:
        return "The model was trained from Python on rows in memory"
    named = filter(None, (source.train, source.test, *source.added))
    if not fetch and (address := next(filter(scheme_of, named), None)):
        return f"The training rows are at {address}, which is read only if you name it"
    if folder is not None:
        found = {name: _seen_from(folder, getattr(source, name)) for name in ("train", "test")}
        source = source.model_copy(update=found | {"added": tuple(_seen_from(folder, each) for each in source.added)})
    try:
        seen = split_again(config, source, data_dir)
    except GlassformerError as error:  # its server may be gone too
        return f"The training rows cannot be read: {str(error).rstrip('.')}"
    if seen is not None:
        return seen
    *others, last = (source.train, *source.added)
    names = f"{', '.join(others)} or {last} has" if others else f"{last} has"
    return f"{names} changed since the model was trained on it"


def _seen_from(folder: Path, table: str | None) -> str | None:
    """Return the path of a table as seen from here, or from a folder above that of a model if it is there instead."""
    if table is None or table in KNOWN or exists(file_of(Path(table))):
        return table
    found = (above / table for above in folder.resolve().parents)  # an absolute path stays
    return next((str(path) for path in found if exists(file_of(path))), table)


def split_again(config: FolderConfig, source: SourceConfig, data_dir: Path | None) -> Splits | None:
    """Return the rows that the model was trained and validated on, or None if the table holds other rows now.

    Raises:
        UsageError: a table cannot be read, or a table of validation rows has a new label by now.
    """
    remembered = config.remembered
    validation, seed = remembered.recipe.validation, remembered.recipe.training.seed
    seen = read_sources(source, validation, data_dir, inputs=remembered.inputs).split(validation, seed=seed)
    if fingerprint(seen.train) != remembered.data.fingerprint:
        return None
    if seen.validation is not None:
        measures_of(config).truth_of(config, seen.validation)
    return seen


def shared(measured: Table, *seen: Table) -> int:
    """Return how many of the measured texts are among the texts that were seen (equal by `text_keys`)."""
    known = pl.concat([text_keys(table.frame["text"]) for table in seen]).unique()
    return int(text_keys(measured.frame["text"]).is_in(known.implode()).sum())


def of_known_groups(measured: Table, learned: Table) -> list[str]:
    """Say how many of the measured rows have a group that was learned, if both tables have groups."""
    if not all("group" in table.frame.columns for table in (measured, learned)):
        return []
    known = measured.frame["group"].is_in(learned.frame["group"].unique().implode())
    has = "has" if known.sum() == 1 else "have"
    of = f"{known.sum():,} of {counted(measured.frame.height, 'measured row')} {has} a group that was in training"
    return [f"{of}; for new groups, figures may be too good"] if known.any() else []


def counted_of(both: int, measured: Table) -> str:
    """Write "3 of 40 measured texts were"."""
    return f"{both:,} of {counted(measured.frame.height, 'measured text')} {'was' if both == 1 else 'were'}"


def effect_of(both: int, measured: Table) -> str:
    """Say what it means for the figures of a model that so many of the measured texts were trained on."""
    return TOO_GOOD if both / measured.frame.height >= _MANY else _LITTLE
