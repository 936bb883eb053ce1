"""`glassformer audit`: which personal data a model folder holds, and what its answers reveal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from glassformer.cli.flags import said_with_flags
from glassformer.cli.options import Measuring, Model
from glassformer.cli.output import announce, doing, print_table, say, show, show_findings, write_json
from glassformer.cli.there import table
from glassformer.cli.writers import about_model, check_earlier, check_folder, check_replaced
from glassformer.errors import UsageError
from glassformer.prediction.folder_names import AUDIT_FILE, AUDIT_PAGE
from glassformer.prediction.shipped import is_shipped

if TYPE_CHECKING:
    from glassformer.audit.result import Audit, FileAudit


def audit(
    model: Model,
    train: Annotated[str | None, typer.Option(callback=table, help="The training table, if it was moved.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for audit.html and audit.json. Default: MODEL.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the earlier report in --out.")] = False,
    *,
    run: Measuring,
) -> None:
    """Say which personal data a model folder holds, and whether its answers reveal which texts it learned."""
    from glassformer.audit.audit import audit as run_audit
    from glassformer.audit.audit import write_audit

    if out is None and is_shipped(model):
        raise UsageError(f"{model.name} comes with glassformer, and nothing is written beside it; add --out FOLDER")
    if out is not None or model.is_dir():  # else there is no model
        check_folder(out or model)
    if out is not None:
        check_replaced(out, (AUDIT_FILE, AUDIT_PAGE), key="verdict")
        check_earlier(out, AUDIT_FILE, overwrite=overwrite)
    folder = out or model
    with about_model(model, *(() if out else (folder / AUDIT_FILE, folder / AUDIT_PAGE))):
        found = run_audit(model, train=train, data_dir=run.data_dir, device=run.place, say=announce)
        found = found.model_copy(update={"findings": said_with_flags(found.findings)})
        doing("writing the audit")
        write_audit(folder, found)
    if run.json:
        write_json(found.model_dump_json(indent=2) + "\n")
    else:
        _show(found)
    say(f"page: {folder / AUDIT_PAGE}    figures: {folder / AUDIT_FILE}")


def _show(found: Audit) -> None:
    show(f"{found.model}: {found.verdict}")
    show_findings(found.findings)
    show("")
    head = "file", "part of the model", "personal data found", "what it is"
    print_table([head, *map(_cells, found.files)], others=str.ljust)


def _cells(file: FileAudit) -> tuple[str, str, str, str]:
    if file.found is None:
        inside = "not searched"
    else:
        inside = ", ".join(f"{each.values:,} × {each.kind}" for each in file.found) or "none"
    return file.name, "yes" if file.give_away else "no: it stays", inside, file.holds
