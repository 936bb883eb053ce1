from typing import Any

import numpy as np
import pytest

from glassformer.readers.folds import folds_of
from glassformer.readers.reader import DECIDING, Rows
from glassformer.readers.rules.fitting import fit_rules
from glassformer.readers.rules.reader import RulesReader
from glassformer.readers.rules.saying import LabelSaying

LABELS = ("a", "b")
CONTENT = '"right" -> a\n"wrong" -> a\n"rare" -> a\n"given" -> a 3\n"always" -> a always\n"against" -> not a\n'


def rows(words: list[str], truth: list[Any]) -> Rows:
    of = np.array(truth)
    return Rows(
        texts=words, truth=of, width=2, weights=np.ones(len(of), np.float32), loss=lambda *_: None, inputs=None, seed=0
    )


def fitted(words: list[str], truth: list[Any], others: list[np.ndarray] | None = None) -> tuple[dict[str, float], Any]:
    table = rows(words, truth)
    reader = RulesReader.of(CONTENT, LabelSaying(labels=LABELS, several=table.truth.ndim == 2), "rules.txt")
    folds = folds_of(table.truth, seed=0)
    place = np.concatenate([fold.held_out for fold in folds])
    found = fit_rules(reader, table, folds, [each[place] for each in others or []])
    names = [rule.phrase[0] for rule in reader.rules]
    return dict(zip(names, found.reader.weights.tolist(), strict=True)), (found.held_out, place)


WORDS = ["right", "wrong", "against", "none"] * 50
TRUTH = [0, 1, 1, 0] * 50


def test_weights_follow_from_held_out_rows_and_a_prior() -> None:
    weights, (held_out, place) = fitted(WORDS, TRUTH)
    assert weights["right"] > 2
    assert weights["wrong"] == 0
    assert weights["rare"] == 1  # no row says anything about it
    assert weights["given"] == 3
    assert weights["always"] == 0  # it decides
    assert weights["against"] > 2
    by_word = {word: held_out[[i for i, at in enumerate(place) if WORDS[at] == word]] for word in set(WORDS)}
    assert (by_word["right"][:, 0] > 2).all()
    assert (by_word["against"][:, 0] < -2).all()
    assert not by_word["none"].any()


def test_a_row_is_scored_by_weights_that_were_found_without_it() -> None:
    weights, (held_out, place) = fitted([*WORDS, "rare"], [*TRUTH, 1])
    assert 0 < weights["rare"] < 0.8 * held_out[place == len(WORDS), 0]  # both times the weight of the reader


def test_a_rule_adds_what_other_readers_do_not_say_already() -> None:
    knows = 4.0 * np.eye(2)[TRUTH]
    alone, with_others = fitted(WORDS, TRUTH)[0], fitted(WORDS, TRUTH, [knows])[0]
    assert 0 < with_others["right"] < 0.7 * alone["right"]


def test_rows_that_a_rule_decides_say_nothing_about_weights() -> None:
    decided = [f"{word} always" for word in WORDS]
    weights, (held_out, _) = fitted(decided, TRUTH)
    assert weights["right"] == weights["wrong"] == pytest.approx(1)
    assert (held_out[:, 0] == DECIDING).all()


def test_of_several_labels_too() -> None:
    weights, _ = fitted(WORDS, [[1, 0], [0, 1], [0, 1], [1, 0]] * 50)
    assert weights["right"] > 2
    assert weights["wrong"] == 0
