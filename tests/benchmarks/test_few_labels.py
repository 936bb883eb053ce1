import json
import sys
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from benchmarks import bench_data, encoder, few_labels, few_unequal, readers_alone, unlabelled
from benchmarks.bench_data import Entry, cut_rows
from benchmarks.bench_opponents import FastText
from benchmarks.tables import kinds
from glassformer.experiments.published.table import short
from glassformer.training.recipe import load_recipe
from tests.checkpoints import describe_encoder, write_checkpoint


def test_each_class_gives_the_same_number_of_rows() -> None:
    table = cut_rows(Entry(name="few", data="polarity", minutes=1), 0, test=True).train
    chosen, rest = few_labels.few_rows(table, 8, draw=0)
    assert chosen.frame["label"].value_counts()["count"].to_list() == [8, 8]
    assert not set(chosen.frame["row"]) & set(rest.frame["row"])
    assert chosen.frame.height + rest.frame.height == table.frame.height
    other, _ = few_labels.few_rows(table, 8, draw=1)
    assert set(other.frame["row"]) != set(chosen.frame["row"])


@pytest.fixture
def quick_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark runs as a trial on one small table."""
    monkeypatch.setattr(bench_data, "ENTRIES", (Entry(name="few", data="polarity", minutes=1),))
    monkeypatch.setattr(few_labels, "load_recipe", partial(load_recipe, preset="tiny"))
    monkeypatch.setattr(FastText, "is_installed", lambda: False)
    monkeypatch.setattr(sys, "argv", ["benchmark.py", "--quick", "--work", str(tmp_path / "work")])


@pytest.mark.usefixtures("quick_trial")
def test_a_benchmark_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_labels, "PLAN", {"few": (8,)})
    few_labels.main()
    found = json.loads((tmp_path / "work" / "trial" / "few-labels.json").read_text())
    (line,) = found["lines"]
    assert (line["rows"], line["per_class"]) == (16, 8)
    others = [few_labels.TFIDF, few_labels.WITH_PIECES, few_labels.NAIVE_BAYES, few_labels.COUNTING]
    assert list(line["contestants"]) == [*others, few_labels.OURS]
    assert list(line["over"]) == others
    accuracies = {name: figures["accuracy"]["value"] for name, figures in line["contestants"].items()}
    for other, gain in line["over"].items():
        assert gain["low"] <= gain["value"] <= gain["high"]
        assert np.isclose(gain["value"], accuracies[few_labels.OURS] - accuracies[other])
    shown = "\n".join(kinds(tmp_path / "work" / "trial")["few-labels"]("few-labels"))
    (row,) = [each for each in shown.splitlines() if each.startswith("| `few` | 8 | ")]
    gain = line["over"][few_labels.WITH_PIECES]
    assert ("↑" in row, "↓" in row) == (gain["low"] > 0, gain["high"] < 0)
    assert f"on {int(gain['low'] > 0)} of 1 lines (↑)" in shown
    assert list(kinds(tmp_path)["few-labels"]("few-labels")) == ["Not measured yet."]


@pytest.mark.usefixtures("quick_trial")
def test_four_of_five_rows_have_one_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_unequal, "PLAN", {"few": (20,)})
    table = cut_rows(bench_data.ENTRIES[0], 0, test=True).train
    drawn = few_unequal.unequal(table, "positive", 20, seed=0).frame["label"].to_list()
    assert (drawn.count("positive"), len(drawn)) == (16, 20)
    few_unequal.main()
    (line,) = json.loads((tmp_path / "work" / "trial" / "few-unequal.json").read_text())["lines"]
    assert line["rows"] == 20
    assert line["contestants"][few_unequal.FREQUENT]["accuracy"]["value"] == pytest.approx(0.8, abs=0.01)
    shown = "\n".join(kinds(tmp_path / "work" / "trial")["few-unequal"]("few-unequal"))
    assert "| `few` | 20 | " in shown


@pytest.mark.skipif(not FastText.is_installed(), reason="fastText is not installed")
def test_fasttext_starts_from_our_word_vectors() -> None:
    cut = cut_rows(Entry(name="few", data="polarity", minutes=1), 0, test=True, quick=True)
    answered = few_labels.opponents(cut, 0)
    assert {few_labels.FASTTEXT, few_labels.FASTTEXT_BODY} <= set(answered)
    assert not np.array_equal(answered[few_labels.FASTTEXT], answered[few_labels.FASTTEXT_BODY])


def test_what_unlabelled_texts_add_is_written_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = tuple(Entry(name=name, data="polarity", minutes=1) for name in ("few", "other"))
    monkeypatch.setattr(bench_data, "ENTRIES", entries)
    monkeypatch.setattr(unlabelled, "PLAN", {"few": (8,), "other": (8,)})
    monkeypatch.setattr(unlabelled, "OTHER_LANGUAGES", ("other",))
    monkeypatch.setattr(few_labels, "load_recipe", partial(load_recipe, preset="tiny"))
    monkeypatch.setattr(sys, "argv", ["unlabelled.py", "--quick", "--work", str(tmp_path / "work")])
    unlabelled.main()
    found = json.loads((tmp_path / "work" / "trial" / "unlabelled.json").read_text())
    line, other = found["lines"]
    assert list(line["contestants"]) == [few_labels.TFIDF, few_labels.COUNTING, unlabelled.BOTH, unlabelled.CONTINUED]
    assert list(other["contestants"]) == [few_labels.TFIDF, few_labels.COUNTING, unlabelled.CONTINUED]
    for each, without in ((line, unlabelled.BOTH), (other, few_labels.COUNTING)):
        values = {name: figures["accuracy"]["value"] for name, figures in each["contestants"].items()}
        assert np.isclose(each["over_without"]["value"], values[unlabelled.CONTINUED] - values[without])
    shown = "\n".join(kinds(tmp_path / "work" / "trial")["unlabelled"]("unlabelled"))
    (row,) = [each for each in shown.splitlines() if each.startswith("| `other` | ")]
    assert row.split(" | ")[1] == f"{other['unlabelled_texts']:,}"
    assert " → " in row
    assert f"{sum(each['over_without']['low'] > 0 for each in found['lines'])} of 2 are significantly better" in shown


@pytest.mark.usefixtures("quick_trial")
@pytest.mark.parametrize("benchmark", [encoder, readers_alone])
def test_what_an_encoder_adds_is_written_and_shown(
    benchmark: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    write_checkpoint(folder, "bert", "Model", num_hidden_layers=1)
    describe_encoder(folder, ("Pooling", {"word_embedding_dimension": 24, "pooling_mode_mean_tokens": True}))
    monkeypatch.setattr(benchmark, "PLAN", {"few": (8,)})
    option = "--encoder" if benchmark is encoder else "--encoders"
    monkeypatch.setattr(sys, "argv", [*sys.argv, option, str(folder)])
    benchmark.main()
    check = check_encoder if benchmark is encoder else check_alone
    check(tmp_path / "work" / "trial")


def check_alone(folder: Path) -> None:
    (line,) = json.loads((folder / "readers-alone.json").read_text())["lines"]
    values = {name: figures["accuracy"]["value"] for name, figures in line["contestants"].items()}
    names = ["counting", "english alone", "counting and english", "tiny alone", "counting and tiny"]
    assert list(values) == names
    for body, best in line["best_alone"].items():
        assert values[best] == max(values["counting"], values[f"{body} alone"])
        assert np.isclose(line["over_best_alone"][body]["value"], values[f"counting and {body}"] - values[best])
    table, said, *_ = kinds(folder)["readers-alone"]("readers-alone")
    assert "| `few` |" in table
    least = min(each["value"] for each in line["over_best_alone"].values())
    assert said.endswith(f"The largest loss against the best reader alone is {short(-least)}.")


def check_encoder(folder: Path) -> None:
    (line,) = json.loads((folder / "encoder.json").read_text())["lines"]
    names = [few_labels.TFIDF, encoder.ALONE, encoder.WITH_BODY, encoder.WITH_ENCODER]
    assert list(line["contestants"]) == names
    assert [{*each[0]} & {"body", "encoder"} for each in line["weights"].values()] == [{"body"}, {"encoder"}]
    assert list(line["over"]) == names[:-1]
    shown = "\n".join(kinds(folder)["encoder"]("encoder"))
    (row,) = [each for each in shown.splitlines() if each.startswith("| `few` | 8 | ")]
    best = max(figures["accuracy"]["value"] for figures in line["contestants"].values())
    assert f"**{short(best)}**" in row
