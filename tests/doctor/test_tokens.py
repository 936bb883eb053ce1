import numpy as np
import pytest

from glassformer.data.labels import LabelSet
from glassformer.data.table import Table
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.doctor.findings import Finding, TokenReport
from glassformer.doctor.tokens import report_tokens
from tests.training.samples import table


def reported(
    rows: Table, known: list[str], *, window: int = 99, held_out: bool = True, kind: str = "word"
) -> tuple[TokenReport, Finding]:
    config = TokenizerConfig.model_validate({"kind": kind, "min_frequency": 1, "vocab_size": 400})
    tokenizer = TextTokenizer.train(known, config)
    chosen = np.arange(rows.frame.height)
    labels = LabelSet.from_table(rows)
    return report_tokens(tokenizer, rows, chosen, labels, max_seq_len=window, held_out=held_out, kind=kind)


def two_kinds() -> Table:
    return table(["good old film"] * 30 + ["zyx old wvut"] * 25, ["a"] * 30 + ["b"] * 25)


def test_unknown_words_are_counted_by_label() -> None:
    report, finding = reported(two_kinds(), ["good old film"])
    first, second = report.labels
    assert (first.label, first.rows, first.words_per_text, first.tokens_per_word) == ("b", 25, 3.0, 1.0)
    assert first.unknown == pytest.approx(2 / 3)
    assert (second.label, second.unknown) == ("a", 0.0)
    assert report.all_texts.unknown == pytest.approx(50 / 165)
    assert report.standing_out == ("b",)
    assert report.cut_words == ()
    assert finding.level == "worth knowing"
    assert "0% to 66.7%" in finding.found
    assert "the words of 'b'" in finding.found
    assert "tokenizer.kind='bpe'" in finding.advice


def test_words_in_pieces_are_counted_too() -> None:
    report, finding = reported(two_kinds(), ["good old film"] * 9, kind="bpe", held_out=False)
    by_label = {line.label: line for line in report.labels}
    assert by_label["a"].tokens_per_word < 1.2 < by_label["b"].tokens_per_word
    assert report.standing_out == ("b",)
    assert [(each.word, each.texts) for each in report.cut_words[:2]] == [("wvut", 25), ("zyx", 25)]
    assert report.cut_words[0].tokens >= report.cut_words[1].tokens > 1
    assert "of training texts" in finding.found
    assert "bpe" not in finding.advice
    assert "a larger vocabulary" in finding.advice


def test_labels_that_are_cut_alike_do_not_stand_out() -> None:
    rows = table(["good old film", "zyx film"] * 40, ["a", "b", "b", "a"] * 20)
    report, finding = reported(rows, ["good old film"])
    assert report.standing_out == ()
    assert finding.level == "good"
    assert finding.advice == ""


def test_few_texts_do_not_stand_out() -> None:
    rows = table(["good film"] * 40 + ["zyx"] * 19, ["a"] * 40 + ["b"] * 19)
    assert reported(rows, ["good film"])[0].standing_out == ()


def test_long_texts_and_several_labels() -> None:
    rows = table(["good old film", "good", "film", ""], [["x", "y"], ["x"], ["y"], []])
    report, _ = reported(rows, ["good old film"], window=3)
    assert {line.label: (line.rows, line.longer) for line in report.labels} == {"x": (2, 1), "y": (2, 1)}
    assert (report.all_texts.rows, report.all_texts.longer) == (4, 1)


def test_many_labels_are_not_all_listed() -> None:
    rows = table([f"text {number}" for number in range(60)], [f"l{number // 2}" for number in range(60)])
    report, finding = reported(rows, ["text"])
    assert (len(report.labels), report.more_labels) == (20, 10)
    assert "by label: 50%" in finding.found


def test_a_tokenizer_that_knows_every_word_says_so() -> None:
    assert reported(two_kinds(), ["good"], kind="byte")[1].found.endswith("; none is unknown")
