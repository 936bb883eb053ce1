"""Audit a model folder: what its files tell, and what its answers tell."""

import time
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

import glassformer
from glassformer.audit.files import audit_files
from glassformer.audit.held_out import CannotMeasureError, Say, measure_membership
from glassformer.audit.in_page import inputs_in
from glassformer.audit.judge import judge, verdict_of
from glassformer.audit.result import Audit, Membership, Traced
from glassformer.audit.traces import trace, with_names
from glassformer.data.addresses import without_password
from glassformer.data.files import write_aside
from glassformer.data.inputs import Inputs
from glassformer.data.json_files import read_json
from glassformer.data.model_marks import RECORD_FILE
from glassformer.data.splits import Splits
from glassformer.doctor.findings import LEVELS
from glassformer.errors import GlassformerError, UsageError
from glassformer.evaluation.seen_rows import seen_rows, split_again
from glassformer.evaluation.verdict import share
from glassformer.exporting.web import PAGE_FILE
from glassformer.pages.html import rendered
from glassformer.prediction.exported import is_exported
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.folder_format import check_is_folder
from glassformer.prediction.folder_names import AUDIT_FILE, AUDIT_PAGE
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.shipped import shown


def audit(
    folder: Path,
    *,
    train: str | None = None,
    data_dir: Path | None = None,
    device: str = "cpu",
    say: Say = lambda _: None,
) -> Audit:
    """Audit a model that answers with labels or a number. Nothing is written, and nothing is sent anywhere.

    Args:
        folder: a model folder, or an export, of which only the files are read.
        train: the training table, if it is no longer at the place that the model folder names.

    Raises:
        UsageError: there is no such folder, it holds no such model, or `train` does not hold its training rows.
        GlassformerError: a file of the model is damaged.
    """
    began = time.perf_counter()
    check_is_folder(folder, command="train")
    traced: tuple[Traced, ...] | None = None
    membership: Membership | None = None
    inputs: Inputs | None = None
    unread = unmeasured = "an export does not know its training table; audit the model folder that it was made of"
    is_export = is_exported(folder) or (folder / RECORD_FILE).is_file()
    if not is_export:
        say("reading the model and its training table")
        predictor = Predictor.load(folder, device=device)
        splits = _training_rows(predictor.trained.config, train, data_dir)
        inputs = predictor.trained.config.inputs
        unread = unmeasured = splits if isinstance(splits, str) else ""
        if isinstance(splits, Splits):
            say("looking for personal data in the training table")
            rows = pl.concat([table.frame.select("row", "text") for table in splits.tables])
            traced = trace(rows, predictor.trained)
            try:
                membership = measure_membership(predictor, splits, say=say)
            except CannotMeasureError as error:
                unmeasured = str(error)
    elif train is not None:
        raise UsageError(f"{folder} is an export, and only its files are read; leave out `train=`")
    else:
        inputs = _exported_inputs(folder)
    say("reading every file of the folder")
    files = audit_files(folder, inputs, is_export=is_export)
    if traced is not None:
        files = with_names(files, traced)
    findings = judge(files, traced, membership, inputs, unread=unread, unmeasured=unmeasured)
    findings = tuple(sorted(findings, key=lambda finding: LEVELS.index(finding.level)))
    return Audit(
        model=shown(folder),
        verdict=verdict_of(findings, membership, traced),
        findings=findings,
        files=files,
        traced=traced,
        unread=unread,
        membership=membership,
        unmeasured=unmeasured,
        seconds=round(time.perf_counter() - began, 1),
        version=glassformer.__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _exported_inputs(folder: Path) -> Inputs | None:
    try:
        page = folder / PAGE_FILE
        found = inputs_in(page) if page.is_file() else read_json(folder / "config.json")["inputs"]
        return Inputs.model_validate(found)
    except (GlassformerError, OSError, ValueError, LookupError, TypeError):  # one text, or another kind of export
        return None


def _training_rows(config: FolderConfig, train: str | None, data_dir: Path | None) -> Splits | str:
    """Read the rows that the model learned and those that were held out, or say why this is impossible."""
    if "teacher" in config.data:
        return "the model is a student, which learned answers of its teacher; audit the teacher for its labelled rows"
    if train is None:
        found = seen_rows(config, data_dir)
        if isinstance(found, str):
            return f"{found[:1].lower()}{found[1:].rstrip('.')}" if found.startswith("The ") else found
        return found
    source = config.remembered.read_as
    if source is None:
        raise UsageError(
            "the model was trained from Python on rows in memory, which no table is known to hold; leave out `train=`"
        )
    splits = split_again(config, source.model_copy(update={"train": without_password(train)}), data_dir)
    if splits is None:
        raise UsageError(
            f"`train={train!r}`: this table does not hold the rows that the model was trained on; leave out `train=` "
            "to audit the files alone"
        )
    return splits


def write_audit(folder: Path, found: Audit) -> None:
    """Write `audit.json` and `audit.html` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in ((AUDIT_FILE, found.model_dump_json(indent=2) + "\n"), (AUDIT_PAGE, render_audit(found))):
        write_aside(folder / name, text)


def render_audit(found: Audit) -> str:
    """Return the page as HTML. Everything that comes from the user's data is masked or escaped."""
    return rendered("audit/page", title=found.model, kind="audit", found=found, share=share)
