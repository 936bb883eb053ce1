"""The figures on the English body: what it adds, and what it associates."""

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from benchmarks import bench_data, body, few_labels, unlabelled
from benchmarks.associations import ASKED, association
from benchmarks.bench_data import Entry
from benchmarks.tables import kinds
from glassformer.readers.body.vectors import Body
from glassformer.training.recipe import load_recipe
from tests.bodies import ENGLISH


def test_associations_are_as_on_paper() -> None:
    """Words along one axis, those of the first list on the side of the first attributes: d is as large as it gets."""
    english = Body.load(ENGLISH)
    words = {name: ASKED["words"][name] for name in ("flowers", "insects", "pleasant", "unpleasant")}
    vectors = np.zeros_like(english.vectors)
    for sign, names in ((1, ("flowers", "pleasant")), (-1, ("insects", "unpleasant"))):
        for name in names:
            vectors[[english.index[word] for word in words[name] if word in english.index], 0] = sign
    drawn = replace(english, vectors=vectors)
    found = association(drawn, "flowers", "insects", "pleasant", "unpleasant")
    n, m = found["words"]["flowers"], found["words"]["insects"]
    values = np.array([2.0] * n + [-2.0] * m)
    assert np.isclose(found["d"], 4 / values.std(ddof=1))
    assert found["p"] < 0.001
    assert association(drawn, "insects", "flowers", "pleasant", "unpleasant")["p"] > 0.999


def test_the_shipped_body_knows_english() -> None:
    english = Body.load(ENGLISH)
    assert {"films", "actor"} <= {word for word, _ in english.nearest("film", 10)}
    assert sum(file.stat().st_size for file in ENGLISH.iterdir()) < 12_000_000
    sources = (ENGLISH / "SOURCES.tsv").read_text(encoding="utf-8")
    kinds = {line.split("\t")[1] for line in sources.splitlines()[1:]}
    assert {name.split("-1")[0].split("-0")[0] for name in english.card.sources} <= kinds


def test_what_it_adds_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_data, "ENTRIES", (Entry(name="few", data="polarity", minutes=1),))
    monkeypatch.setattr(body, "PLAN", {"few": (8,)})
    monkeypatch.setattr(body, "load_recipe", partial(load_recipe, preset="tiny"))
    monkeypatch.setattr(sys, "argv", ["body.py", "--quick", "--work", str(tmp_path / "work")])
    body.main()
    found = json.loads((tmp_path / "work" / "trial" / "body.json").read_text())
    (line,) = found["lines"]
    assert (line["rows"], line["per_class"]) == (16, 8)
    assert list(line["contestants"]) == [few_labels.TFIDF, body.WITH_PIECES, body.COUNTING, body.BOTH]
    gain = line["contestants"][body.BOTH]["over_counting"]
    accuracies = {name: figures["accuracy"]["value"] for name, figures in line["contestants"].items()}
    assert np.isclose(gain["value"], accuracies[body.BOTH] - accuracies[body.COUNTING])
    shown = "\n".join(kinds(tmp_path / "work" / "trial")["body"]("body"))
    (row,) = [each for each in shown.splitlines() if each.startswith("| `few` | 8 | ")]
    assert ("↑" in row, "↓" in row) == (gain["low"] > 0, gain["high"] < 0)
    assert f"{int(gain['low'] > 0)} of 1 lines are significantly better" in shown


def test_what_unlabelled_texts_add_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = tuple(Entry(name=name, data="polarity", minutes=1) for name in ("few", "other"))
    monkeypatch.setattr(bench_data, "ENTRIES", entries)
    monkeypatch.setattr(unlabelled, "PLAN", {"few": (8,), "other": (8,)})
    monkeypatch.setattr(unlabelled, "OTHER_LANGUAGES", ("other",))
    monkeypatch.setattr(body, "load_recipe", partial(load_recipe, preset="tiny"))
    monkeypatch.setattr(sys, "argv", ["unlabelled.py", "--quick", "--work", str(tmp_path / "work")])
    unlabelled.main()
    found = json.loads((tmp_path / "work" / "trial" / "unlabelled.json").read_text())
    line, other = found["lines"]
    assert list(line["contestants"]) == [few_labels.TFIDF, body.COUNTING, body.BOTH, unlabelled.CONTINUED]
    assert list(other["contestants"]) == [few_labels.TFIDF, body.COUNTING, unlabelled.CONTINUED]
    for each, without in ((line, body.BOTH), (other, body.COUNTING)):
        values = {name: figures["accuracy"]["value"] for name, figures in each["contestants"].items()}
        assert np.isclose(each["over_without"]["value"], values[unlabelled.CONTINUED] - values[without])
    shown = "\n".join(kinds(tmp_path / "work" / "trial")["unlabelled"]("unlabelled"))
    (row,) = [each for each in shown.splitlines() if each.startswith("| `other` | ")]
    assert row.split(" | ")[1] == f"{other['unlabelled_texts']:,}"
    assert " → " in row
    assert f"{sum(each['over_without']['low'] > 0 for each in found['lines'])} of 2 are significantly better" in shown
