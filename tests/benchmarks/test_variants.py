"""A comparison of variants is kept as its figures: those of each seed, without a record of each run."""

import sys
from pathlib import Path

import pytest

from benchmarks import variants
from benchmarks.tables_common import read
from benchmarks.tables_variants import chart, compared
from tests.experiments.variants import samples


def test_the_figures_of_a_comparison_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = samples.compared(tmp_path / "runs")
    monkeypatch.setattr(variants, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["variants", str(tmp_path / "runs" / "results.json"), "tweets"])
    (tmp_path / "variants").mkdir()
    variants.main()
    file = tmp_path / "variants" / "tweets.json"
    assert capsys.readouterr().out == f"{file}\n"
    kept = read(file)
    assert kept["training_seconds"] == pytest.approx(sum(run.seconds for run in found.runs))
    for variant in kept["variants"]:
        assert sum(variant["accuracies"]) / len(found.seeds) == pytest.approx(variant["accuracy"]["value"])
    page = "\n\n".join(compared("tweets", kept))
    assert found.verdict in page
    assert found.covers in page
    assert chart(kept).count("<circle") == 4
