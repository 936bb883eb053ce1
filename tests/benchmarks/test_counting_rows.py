from pathlib import Path

import polars as pl

from benchmarks.counting_rows import WORDS, measure, runs_of_words
from benchmarks.tables_counting import counting_tables
from tests.training.samples import table


def test_runs_of_words_are_cut_from_all_texts_without_repeats() -> None:
    texts = [" ".join(f"{name}{number}" for number in range(60)) for name in "abc"] + ["short one"]
    rows = runs_of_words(table(texts, ["good", "bad", "good", "bad"]), 30)
    assert rows.height == rows["text"].n_unique() == 30
    assert rows["text"].str.split(" ").list.len().max() == WORDS
    assert {text[0] for text in rows["text"]} >= {"a", "b", "c"}
    labels = dict(zip(rows["text"].str.head(1), rows["label"], strict=True))
    assert (labels["a"], labels["b"], labels["c"]) == ("good", "bad", "good")


def test_the_command_is_measured(tmp_path: Path) -> None:
    rows = pl.DataFrame({"text": [f"a {('dull', 'warm')[n % 2]} film {n}" for n in range(60)], "label": [0, 1] * 30})
    line = measure(rows, tmp_path)
    assert (line["rows"], line["accuracy"]) == (60, 1.0)
    assert 0 < line["fitting_seconds"] < line["whole_seconds"]
    assert line["peak_mib"] > 100
    assert line["bytes"] > 100
    machine = {"threads": 2, "processor": "a processor"}
    shown = "".join(counting_tables({"lines": [line], "words": WORDS, "data": "imdb", "machine": machine}))
    assert "| 60 |" in shown
    assert "on a processor, threads: 2" in shown
