"""The doctor's page, one self-contained HTML file, and the findings as JSON."""

from __future__ import annotations

import math
from pathlib import Path

from glassformer.data.files import write_aside
from glassformer.doctor.drawings import length_chart, rate_chart
from glassformer.doctor.findings import Diagnosis, percent
from glassformer.pages.html import rendered


def write_diagnosis(folder: Path, diagnosis: Diagnosis) -> None:
    """Write `findings.json` and `report.html` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    document = diagnosis.model_dump_json(indent=2) + "\n"
    for name, text in (("findings.json", document), ("report.html", render_diagnosis(diagnosis))):
        write_aside(folder / name, text)


def render_diagnosis(diagnosis: Diagnosis) -> str:
    """Return the page as HTML. Everything that comes from the user's data is escaped."""
    after = {layer.name: layer for layer in diagnosis.figures.after}
    return rendered(
        "doctor/page",
        title=diagnosis.source,
        kind="doctor",
        found=diagnosis,
        layers=[(layer, after.get(layer.name, layer)) for layer in diagnosis.figures.at_start],
        percent=percent,
        is_finite=math.isfinite,
        rate_chart=rate_chart,
        length_chart=length_chart,
    )
