import dataclasses
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from glassformer.data.sources import Sources
from glassformer.data.splits import ValidationConfig
from glassformer.data.table import Table
from glassformer.models.published.vinh import VinhMLPConfig
from glassformer.prediction.model_folder import CLASSIFIER, load_model
from glassformer.prediction.predictor import Predictor
from glassformer.readers.counting.unlike import SEEN_FILE, UnlikeConfig, ngram_hashes
from glassformer.training import unlike
from glassformer.training.card import model_card
from glassformer.training.recipe import Recipe
from glassformer.training.run import train_model
from glassformer.training.unlike import learn_seen, threshold_of
from tests.training.samples import SMALL, config, opinions, table


def of(*texts: str, groups: str = "") -> Table:
    """A table of these texts. Each character of `groups` is the group of a row."""
    found = table(list(texts), ["a"] * len(texts))
    frame = found.frame.with_columns(group=pl.Series(list(groups))) if groups else found.frame
    return dataclasses.replace(found, frame=frame)


def test_one_in_a_hundred_exceeds_the_threshold() -> None:
    assert threshold_of(np.arange(1_000, dtype=np.float32)) == 990  # 9 of 1,000 are larger
    assert threshold_of(np.arange(99, dtype=np.float32)) == 98
    assert threshold_of(np.array([0.25, 0.5, 0], np.float32)) == 0.5
    draw = np.random.default_rng(0)
    above = [np.mean(draw.random(500) > threshold_of(draw.random(500).astype(np.float32))) for _ in range(500)]
    assert np.mean(above) == pytest.approx(0.01, abs=0.002)


def test_validation_rows_set_the_threshold_and_are_not_learned() -> None:
    found, _ = learn_seen(of("a b", "a b", "c d", "c d"), of("a b", "x"))
    assert found.config.threshold == 1
    assert found.config.held_out_rows == 2
    assert found.unseen_shares(["a b", "c d", "x"]).tolist() == [0, 0, 1]


def test_what_a_single_row_has_is_not_kept() -> None:
    """It would tell that this row was learned: docs/how-to/audit.md."""
    found, _ = learn_seen(of("a b", "a b", "a secret"), of("a b"))
    assert found.unseen_shares(["a b"]).tolist() == [0]
    assert not np.isin(ngram_hashes("secret"), found.hashes).any()
    by_group, _ = learn_seen(of("a b", "a b", "a c", groups="xxy"), None)
    assert by_group.hashes.tolist() == sorted({*ngram_hashes("a b").tolist()} & {*ngram_hashes("a c").tolist()})


def test_without_validation_rows_each_row_is_held_out_by_itself() -> None:
    found, _ = learn_seen(of("a b", "a b", "a b", "a c"), None)
    assert found.config.threshold == pytest.approx(3 / 5)  # "c", "a c" and "c <end>"
    assert found.unseen_shares(["a b"]).tolist() == [0]


def test_a_group_is_held_out_as_a_whole() -> None:
    texts = ["a b", "a b", "a b", "a c"]
    assert learn_seen(of(*texts, groups="wxyz"), None)[1] == pytest.approx([0, 0, 0, 3 / 5])
    assert learn_seen(of(*texts, groups="xxyz"), None)[1] == pytest.approx([3 / 5] * 4)  # "b" is in one other group
    assert learn_seen(of(*texts, groups="xxxx"), None)[1].tolist() == [1] * 4


def test_of_too_many_those_of_most_rows_are_kept() -> None:
    found, _ = learn_seen(of("a", "a", "a", "b", "b"), of("a"), most_hashes=3)
    assert found.unseen_shares(["a", "b"]).tolist() == [0, 1]


def test_of_a_long_table_some_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlike, "_MOST_CHARACTERS", 50)
    texts = [f"word{number // 2:03} here" for number in range(60)]  # 12 characters each
    found, _ = learn_seen(of(*texts), None)
    assert found.config.held_out_rows == 4  # of four different words
    shared = {*ngram_hashes(texts[0]).tolist()} & {*ngram_hashes(texts[15]).tolist()}
    assert found.hashes.tolist() == sorted(shared)  # "here" and "here <end>"


@pytest.mark.parametrize(
    ("multilabel", "design", "min_rows"),
    [(False, "ours", 0), (False, "ours", 2000), (True, "ours", 0), (True, "ours", 2000), (False, "published", 0)],
)
def test_every_kind_of_model_learns_it(multilabel: bool, design: str, min_rows: int, tmp_path: Path) -> None:
    rows = opinions(60)
    if multilabel:
        rows = table(rows.frame["text"].to_list(), [[label] for label in rows.frame["label"]])
    recipe = Recipe(
        validation=ValidationConfig(fraction=0.25, min_rows=min_rows),
        model=SMALL if design == "ours" else VinhMLPConfig(),
        training=config(epochs=1),
    )
    train_model(Sources(train=rows), recipe, out=tmp_path)
    trained = load_model(tmp_path, CLASSIFIER)
    assert trained.seen is not None
    answers = Predictor(trained).answer([rows.frame["text"][0], "qwertz uiop asdf"])
    assert answers.unlike is not None
    assert answers.unlike.tolist() == [False, True]
    threshold = trained.seen.config.threshold
    assert f"more than {threshold:.0%} of its words and word pairs" in model_card(trained)
    nothing = UnlikeConfig(threshold=1, held_out_rows=15)
    card = model_card(dataclasses.replace(trained, config=trained.config.model_copy(update={"unlike": nothing})))
    assert "No text is called unlike the training data" in card


def test_words_of_a_text_count_once_for_its_row() -> None:
    assert len(np.unique(ngram_hashes("a a a"))) == 4
    assert learn_seen(of("a a a", "b"), None)[0].config.threshold == 1


def test_a_model_may_keep_no_seen_words(tmp_path: Path) -> None:
    validation = ValidationConfig(fraction=0.25, min_rows=0)
    model = SMALL.model_copy(update={"counting": "nb"})
    recipe = Recipe(validation=validation, model=model, training=config(epochs=0, keep_seen_words=False))
    train_model(Sources(train=opinions(60)), recipe, out=tmp_path)
    trained = load_model(tmp_path, CLASSIFIER)
    assert trained.seen is None
    assert trained.config.unlike is None
    assert not (tmp_path / SEEN_FILE).exists()
    answers = Predictor(trained).answer(["qwertz uiop asdf"])
    assert (answers.unseen, answers.unlike) == (None, None)
    assert trained.metrics["held_out_answers"]["unlike_training"] is None
    assert "keeps no hashes of its training words" in model_card(trained)
