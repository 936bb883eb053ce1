"""The committed traces of the published systems: complete, right, and linked from the page of their system."""

import base64
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassformer.experiments.published.systems import SYSTEMS
from glassformer.pages.html import asset
from glassformer.tracing.steps import Step
from tests.tracing.arithmetic import recomputed
from tests.tracing.test_page import document

PAGES = Path(__file__).parents[2] / "docs" / "how-it-works" / "systems"
TRACES: dict[str, Any] = runpy.run_path(str(PAGES / "traces" / "draw.py"))["TRACES"]
WITHOUT_A_DESIGN = {"vinh-transfer"}


@pytest.mark.parametrize("name", TRACES)
def test_a_committed_trace_has_the_script_and_style_of_today(name: str) -> None:
    text = (PAGES / "traces" / f"{name}.html").read_text(encoding="utf-8")
    for part in ("trace.css", "sources.js", "trace.js"):
        assert asset("tracing", part) in text, "run make traces"


@pytest.mark.parametrize("name", TRACES)
def test_numpy_computes_the_numbers_of_a_committed_trace(name: str) -> None:
    matrices = document((PAGES / "traces" / f"{name}.html").read_text(encoding="utf-8"))["matrices"]
    values = {
        matrix["name"]: np.frombuffer(base64.b64decode(matrix["values"]), "<f4").reshape(matrix["shape"])
        for matrix in matrices
    }
    steps = [
        Step(
            name=matrix["name"],
            operation=matrix["operation"],
            inputs=tuple(matrix["inputs"]),
            axes=tuple(matrix["axes"]),
            settings=matrix["settings"],
        )
        for matrix in matrices
    ]
    assert [step.formula for step in steps] == [matrix["formula"] for matrix in matrices], "run make traces"
    given = {step.name: values[step.name] for step in steps if step.operation in ("given", "lookup")}
    by_numpy = recomputed(steps, values, given)
    for step in steps:
        shown = values[step.name]
        scale = max(1.0, float(np.abs(shown[np.isfinite(shown)]).max()))
        np.testing.assert_allclose(shown / scale, by_numpy[step.name] / scale, rtol=1e-5, atol=1e-5, err_msg=step.name)


def test_each_system_links_to_its_traces_and_none_is_left_over() -> None:
    written = {page.stem for page in (PAGES / "traces").glob("*.html")}
    assert written == set(TRACES)
    for system in set(SYSTEMS) - WITHOUT_A_DESIGN:
        of_system = {name for name, drawn in TRACES.items() if drawn.recipe == system}
        text = (PAGES / f"{system}.md").read_text(encoding="utf-8")
        assert of_system, system
        for name in of_system:
            assert f"(traces/{name}.html)" in text, name


def test_a_committed_trace_is_small() -> None:
    for page in (PAGES / "traces").glob("*.html"):
        assert page.stat().st_size < 300_000, page.name
