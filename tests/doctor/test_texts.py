import numpy as np
import polars as pl
import pytest

from glassformer.data.labels import LabelSet
from glassformer.data.splits import ValidationConfig, make_splits
from glassformer.data.store import TokenStore
from glassformer.data.table import Dropped, Table
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.doctor.findings import Finding, percent
from glassformer.doctor.texts import (
    check_labels,
    check_languages,
    check_lengths,
    check_rows,
    check_size,
    check_unknown,
)
from glassformer.training.training_config import TrainingConfig
from tests.doctor.samples import by_check
from tests.training.samples import opinions, table

PLAIN, BALANCED = TrainingConfig(), TrainingConfig(class_weights="balanced")


def labelled(counts: dict[str, int], config: TrainingConfig = PLAIN) -> dict[str, Finding]:
    rows = table([f"text {i}" for i in range(sum(counts.values()))], [k for k, n in counts.items() for _ in range(n)])
    labels = LabelSet.from_table(rows)
    return by_check(check_labels(labels, labels.encode(rows), config))


def test_one_label_for_nearly_all_rows_is_named() -> None:
    balance = labelled({"ham": 950, "spam": 50})["label balance"]
    assert balance.level == "problem"
    assert "'ham' is right for 95% of" in balance.found
    assert "`training.class_weights='balanced'`" in balance.advice


def test_labels_that_are_weighted_already() -> None:
    balance = labelled({"ham": 950, "spam": 50}, BALANCED)["label balance"]
    assert balance.level == "worth knowing"
    assert "class_weights" not in balance.advice


@pytest.mark.parametrize(
    ("counts", "level"), [((60, 41), "good"), ((76, 24), "worth knowing"), ((50, 40, 12), "worth knowing")]
)
def test_balance(counts: tuple[int, ...], level: str) -> None:
    assert labelled(dict(zip("abc", counts, strict=False)))["label balance"].level == level


def test_labels_with_few_rows_are_listed() -> None:
    rare = labelled({"a": 40, "b": 37, "c": 4, "d": 9, "e": 10})["rare labels"]
    assert "2 ('c', 'd')" in rare.found


def test_several_labels_per_text() -> None:
    rows = table([f"text {i}" for i in range(100)], [["x"]] * 60 + [["x", "y"]] * 15 + [[]] * 25)
    labels = LabelSet.from_table(rows)
    balance = by_check(check_labels(labels, labels.encode(rows), PLAIN))["label balance"]
    assert balance.level == "worth knowing"
    assert "on 15% to 75% of the texts; 0.90 labels per text; 25% of the texts have none" in balance.found


def test_texts_beyond_the_window_are_named() -> None:
    finding, histogram = check_lengths(np.full(50, 90), 31, padding=0.0)
    assert finding.level == "problem"
    assert "100% of the texts are longer than the 30 tokens" in finding.found
    assert "sees 33.3% of all tokens" in finding.found
    assert "model.max_seq_len=128" in finding.advice
    assert sum(histogram.counts) == 50


def test_a_few_long_texts_are_worth_knowing_and_one_is_not() -> None:
    lengths = np.array([10] * 90 + [200] * 10)
    assert check_lengths(lengths, 64, 0.1)[0].level == "worth knowing"
    finding, histogram = check_lengths(np.array([10] * 99 + [200]), 64, 0.1)
    assert finding.level == "good"
    assert finding.advice == ""
    assert sum(histogram.counts) == 100
    assert histogram.edges[-1] < 20  # the longest hundredth is in the last bar


@pytest.mark.parametrize(
    ("window", "widest", "said"),
    [
        (31, None, "raise the window (`model.max_seq_len=128`)"),
        (31, 200, "raise the window (`model.max_seq_len=128`)"),
        (31, 50, "raise the window (`model.max_seq_len=50`)"),
        (50, 50, "; these weights cannot read a longer window"),
    ],
)
def test_a_window_is_raised_as_far_as_the_weights_go(window: int, widest: int | None, said: str) -> None:
    advice = check_lengths(np.full(50, 90), window, padding=0.0, widest=widest)[0].advice
    assert said in advice
    assert ("raise" in advice) == ("raise" in said)


def test_a_window_one_token_too_short_is_raised_and_not_named_again() -> None:
    assert "max_seq_len=64" in check_lengths(np.array([31] * 18 + [32] * 2), 32, padding=0.0)[0].advice


def unknown(config: TokenizerConfig, held_out: Table | None, **how: bool) -> Finding:
    train = opinions(80)
    tokenizer = TextTokenizer.train(train.frame["text"], config)
    store = TokenStore.in_memory(tokenizer.encode(train.frame["text"].to_list()))
    rows = np.arange(0 if held_out is None else held_out.frame.height)
    return check_unknown(tokenizer, config, store, held_out, rows, **how)


def test_a_tiny_vocabulary_is_named() -> None:
    finding = unknown(TokenizerConfig(vocab_size=6), opinions(30, first=500))
    assert finding.level == "problem"
    assert "the vocabulary has 6 entries and was learned from the training rows" in finding.found
    assert "more entries than 6 (`tokenizer.vocab_size=`)" in finding.advice
    assert "`tokenizer.kind='bpe'`" in finding.advice


def test_unknown_words_are_counted_and_listed() -> None:
    held_out = table(["the plot was marvellous", "the cast was Marvellous", "the end was odd"], ["a", "a", "b"])
    finding = unknown(TokenizerConfig(min_frequency=1), held_out)
    assert finding.level == "worth knowing"
    assert "25% of the tokens of held-out texts" in finding.found.replace("25.0%", "25%")
    assert "'marvellous' (2), 'odd' (1)" in finding.found
    assert "min_frequency" not in finding.advice


def test_a_vocabulary_that_came_with_weights_is_not_to_be_changed() -> None:
    finding = unknown(TokenizerConfig(vocab_size=6), opinions(30, first=500), learned=False)
    assert finding.level == "problem"
    assert "the vocabulary has 6 entries and came with the weights" in finding.found
    assert finding.advice == "other weights, or training from scratch, may suit these texts better"


@pytest.mark.parametrize("learned", [True, False])
def test_a_vocabulary_that_other_readers_do_not_need_is_no_problem(learned: bool) -> None:
    finding = unknown(TokenizerConfig(vocab_size=6), opinions(30, first=500), learned=learned, is_only=False)
    assert finding.level == "worth knowing"
    assert finding.advice.startswith("if the transformer answers, ")


def test_bytes_know_every_word() -> None:
    assert unknown(TokenizerConfig(kind="byte"), opinions(30, first=500)).level == "good"


@pytest.mark.parametrize(("kind", "advised"), [("word", "pieces of words"), ("wordpiece", "pieces of bytes")])
def test_smaller_pieces_are_advised_only_where_they_are_smaller(kind: str, advised: str) -> None:
    config = TokenizerConfig.model_validate({"kind": kind, "min_frequency": 1, "vocab_size": 70})
    held_out = table(["ψωμί και ελιές", "καλό κρασί"], ["a", "b"])
    assert f"{advised} (`tokenizer.kind='bpe'`" in unknown(config, held_out).advice


def test_nothing_held_out_is_said() -> None:
    assert "No rows are held out" in unknown(TokenizerConfig(), None).found


def rows_of(texts: list[str], labels: list[str], dropped: tuple[Dropped, ...] = ()) -> dict[str, Finding]:
    read = table(texts, labels)
    read = Table(**{**vars(read), "dropped": dropped})
    return by_check(check_rows(read, make_splits(read, ValidationConfig(fraction=0.2, min_rows=0), seed=0)))


def test_duplicates_and_conflicts_are_counted() -> None:
    texts = [f"text {i}" for i in range(40)] + ["again"] * 5 + ["both"] * 3
    found = rows_of(texts, ["a", "b"] * 20 + ["a"] * 5 + ["a", "b", "b"], (Dropped(reason="empty text", rows=[3, 9]),))
    assert "6 of 48 rows repeat" in found["duplicates"].found
    assert found["duplicates"].level == "worth knowing"
    conflicting = found["conflicting labels"]
    assert conflicting.level == "problem"
    said = "1 text occurs with different labels, so no model can get all 3 rows right (rows 46, 47 and 48)"
    assert said in conflicting.found
    assert "2 × empty text (rows 3 and 9)" in found["left out"].found


def test_one_of_anything_is_one() -> None:
    found = rows_of([f"text {i}" for i in range(40)] + ["text 7"], ["a", "b"] * 20 + ["b"])
    assert found["duplicates"].found == "1 of 41 rows repeats the text of another row"
    lengths = check_lengths(np.full(50, 90), 2, padding=0.0)[0]
    assert "than the 1 token that fits into the window" in lengths.found
    labels = LabelSet(names=("a", "b"), multilabel=False)
    assert check_labels(labels, np.array([0] * 9 + [1]), PLAIN)[0].found.endswith("the rarest label is 'b' (1 row)")
    several = LabelSet(names=("a",), multilabel=True)
    assert check_labels(several, np.array([[1], [0], [1]]), PLAIN)[0].found.startswith("1 label, on 66.7% to")


def test_clean_rows() -> None:
    found = rows_of([f"text {i}" for i in range(40)], ["a", "b"] * 20)
    assert set(found) == {"duplicates"}
    assert found["duplicates"].level == "good"


def test_size() -> None:
    large = check_size(50, 1000, 100_001, 70_000, held_out=True)
    assert large.level == "worth knowing"
    assert large.advice.endswith("use a smaller model or more dropout, and trust only figures on held-out rows")
    fitting = check_size(50, 1000, 99_999, 75_000, held_out=False)
    assert fitting.level == "good"
    assert "99,999 trained values (75% of them in the embedding table) learn from 50 rows" in fitting.found


def test_where_nothing_is_held_out_validation_is_not_to_be_trusted() -> None:
    advice = check_size(50, 1000, 100_001, 70_000, held_out=False, from_weights=True).advice
    assert "validation" not in advice
    assert "`evaluate` measures on another table, because no rows are held out here" in advice
    assert "training.freeze" in advice
    assert "smaller model" not in advice


@pytest.mark.parametrize(
    ("share", "words"),
    [(0, "0%"), (1, "100%"), (1e-5, "0.001%"), (0.99999, "99.999%"), (0.0996, "10%"), (0.0312, "3.1%"), (0.4, "40%")],
)
def test_shares_are_not_rounded_away(share: float, words: str) -> None:
    assert percent(share) == words


def test_languages_are_named() -> None:
    german, english = "Die Lampe ist leider schon kaputt, Nummer", "The lamp is fine, thank you, number"
    texts = pl.Series([f"{german if number % 3 else english} {number}" for number in range(60)])

    def found(rows: pl.Series) -> Finding:
        (finding,) = check_languages(
            Table(frame=pl.DataFrame({"text": rows}), source="t", text_column="text", label_column=None)
        )
        return finding

    assert found(texts).found == "probably German (67%), English (33%)"
    assert found(texts).level == "worth knowing"
    assert (found(texts.gather_every(3)).found, found(texts.gather_every(3)).level) == ("probably English", "good")
