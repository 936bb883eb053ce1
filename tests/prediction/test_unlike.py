import dataclasses
from pathlib import Path

import numpy as np
import pytest

from glassformer.errors import GlassformerError
from glassformer.prediction.model_folder import CLASSIFIER, load_model, save_model
from glassformer.prediction.predictor import Predictor
from glassformer.readers.counting.unlike import SEEN_FILE, Seen, UnlikeConfig, ngram_hashes
from tests.prediction.samples import small_trained_model


def seen(*texts: str, threshold: float = 0.5) -> Seen:
    hashes = np.unique(np.concatenate([ngram_hashes(text) for text in texts]))
    return Seen(hashes=hashes, config=UnlikeConfig(threshold=threshold, held_out_rows=7))


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("I loved it!", 0),
        ("loved", 2 / 3),  # neither first nor last before
        ("i loved her", 3 / 7),  # "her", "loved her", "her <end>"
        ("it loved i", 4 / 7),  # all of its pairs
        ("it it it", 4 / 7),  # "<start> it", "it it" twice, "it <end>"
        ("zebra", 1),
        ("电影", 1),
        ("", 1),
        (" \t", 1),
        ("\x00", 1),
    ],
)
def test_the_share_is_that_of_words_and_pairs_that_no_text_had(text: str, share: float) -> None:
    assert seen("i loved it!").unseen_shares([text]) == pytest.approx(share)


def test_the_start_and_the_end_are_words_only_in_pairs() -> None:
    assert len(ngram_hashes("a b c")) == 3 + 4
    assert len(set(ngram_hashes("a b b a").tolist())) == 2 + 5
    assert seen("<start> a").unseen_shares(["a"]) == pytest.approx(1 / 3)


def test_a_text_is_unlike_from_above_the_threshold_on() -> None:
    found = seen("i loved it", threshold=0.25)
    assert found.is_unlike(np.array([0, 0.25, 0.26, 1], np.float32)).tolist() == [False, False, True, True]


def test_answers_say_which_texts_are_unlike_the_training_data() -> None:
    trained = dataclasses.replace(small_trained_model(), seen=seen("i loved it"))
    answers = Predictor(trained).answer(["i loved it", "a zebra", " "])
    assert answers.unseen is not None
    assert answers.unseen.tolist() == [0, 1, 1]
    assert answers.unlike is not None
    assert answers.unlike.tolist() == [False, True, False]  # an empty text gets no answer
    assert [(record["unseen_share"], record["unlike_training"]) for record in answers.records()] == [
        (0, False), (1, True), (None, None)
    ]  # fmt: skip


def test_a_model_that_does_not_know_says_none() -> None:
    answers = Predictor(small_trained_model()).answer(["i loved it"])
    assert answers.unseen is None
    assert answers.unlike is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found, trained = seen("i loved it"), small_trained_model()
    config = trained.config.model_copy(update={"unlike": found.config})
    save_model(tmp_path / "model", dataclasses.replace(trained, config=config, seen=found), card="")
    return tmp_path / "model"


def test_the_folder_keeps_hashes_and_no_words(folder: Path) -> None:
    loaded = load_model(folder, CLASSIFIER).seen
    assert loaded is not None
    assert loaded.unseen_shares(["i loved her"]) == pytest.approx(3 / 7)
    assert loaded.config.held_out_rows == 7
    assert b"loved" not in (folder / SEEN_FILE).read_bytes()


def test_a_model_that_does_not_know_takes_the_place_of_one_that_does(folder: Path) -> None:
    save_model(folder, small_trained_model(), card="")
    assert not (folder / SEEN_FILE).exists()
    assert load_model(folder, CLASSIFIER).seen is None


def test_a_lost_file_is_one_sentence(folder: Path) -> None:
    (folder / SEEN_FILE).unlink()
    with pytest.raises(GlassformerError, match=r"seen\.safetensors is missing"):
        load_model(folder, CLASSIFIER)
