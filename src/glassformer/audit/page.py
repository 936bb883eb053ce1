"""The page of an audit, one self-contained HTML file, and the audit as JSON."""

from __future__ import annotations

from pathlib import Path

from glassformer.audit.result import Audit
from glassformer.data.files import write_aside
from glassformer.evaluation.verdict import share
from glassformer.pages.html import rendered
from glassformer.prediction.folder_names import AUDIT_FILE, AUDIT_PAGE


def write_audit(folder: Path, found: Audit) -> None:
    """Write `audit.json` and `audit.html` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in ((AUDIT_FILE, found.model_dump_json(indent=2) + "\n"), (AUDIT_PAGE, render_audit(found))):
        write_aside(folder / name, text)


def render_audit(found: Audit) -> str:
    """Return the page as HTML. Everything that comes from the user's data is masked or escaped."""
    return rendered("audit/page", title=found.model, kind="audit", found=found, share=share)
