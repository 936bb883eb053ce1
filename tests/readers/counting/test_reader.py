import dataclasses
import gc
import json
import math
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from glassformer.errors import GlassformerError
from glassformer.readers.counting.reader import NGRAMS_FILE, WEIGHTS_FILE, CountingReader, NgramWeights

READER = CountingReader(
    families=(
        NgramWeights(
            family="words",
            ngrams=("good", "not", "not good"),
            idf=np.array([1.0, 2.0, 2.0], np.float32),
            tfidf=np.array([[1.0], [-0.5], [-3.0]], np.float32),
            presence=np.array([[0.25], [0.0], [-1.0]], np.float32),
        ),
    ),
    bias=np.array([0.5], np.float32),
    n_classes=2,
    settings={"counting": "auto"},
)


def test_a_logit_is_the_sum_that_can_be_done_by_hand() -> None:
    """ "good" occurs twice: its value is 1 + ln 2. "not good" and "not" have 2 each."""
    values = [1 + math.log(2), 2.0, 2.0]
    length = math.hypot(*values)
    tfidf = (values[0] * 1.0 + values[1] * -0.5 + values[2] * -3.0) / length
    output = 0.5 + tfidf + 0.25 - 1.0
    assert READER.scores(["Good? Not good."])[0] == pytest.approx([-output / 2, output / 2])


def test_an_unknown_text_gets_the_bias() -> None:
    assert READER.scores(["", "words unknown"]).tolist() == [[-0.25, 0.25]] * 2
    assert READER.scores([]).shape == (0, 2)


def test_a_reader_without_ngrams_gives_every_text_the_bias() -> None:
    reader = dataclasses.replace(READER, families=())
    assert reader.scores(["good", "bad", "so"]).tolist() == [[-0.25, 0.25]] * 3


def test_many_texts_are_read_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["good", "not good", "not", "bad"] * 3
    alone = np.concatenate([READER.scores([text]) for text in texts])
    monkeypatch.setattr("glassformer.readers.counting.reader._ROWS_AT_ONCE", 5)
    assert np.array_equal(READER.scores(texts), alone)


def test_a_replaced_reader_does_not_wait_for_the_garbage_collector() -> None:
    """A server freezes what it has in memory, so the collector would never find it."""
    pieces = NgramWeights(family="characters", ngrams=(" g", "oo"), idf=np.ones(2, np.float32))
    gc.disable()
    try:
        assert pieces.counts([["good"]]).ngrams.tolist() == [0, 1]
        alive = weakref.ref(pieces)
        del pieces
        assert alive() is None
    finally:
        gc.enable()


def edited(**values: object) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        file = folder / NGRAMS_FILE
        file.write_text(json.dumps(json.loads(file.read_text()) | values))

    return edit


def retensored(name: str, array: np.ndarray | None) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        tensors = load_file(folder / WEIGHTS_FILE)
        tensors.pop(name, None)
        save_file(tensors | ({} if array is None else {name: array}), folder / WEIGHTS_FILE)

    return edit


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda folder: (folder / NGRAMS_FILE).unlink(), "missing"),
        (lambda folder: (folder / WEIGHTS_FILE).unlink(), "missing"),
        (lambda folder: (folder / WEIGHTS_FILE).write_bytes(b"x" * 40), "cut short or damaged"),
        (lambda folder: (folder / NGRAMS_FILE).write_text("{"), "not readable JSON"),
        (edited(ngrams={"words": ["good", "good", "not"]}), "twice"),
        (edited(ngrams={"words": ["good"]}), "does not match"),
        (edited(ngrams={"letters": ["good"]}), "ngrams.letters.*damaged"),
        (edited(n_classes=3), "does not match"),
        (retensored("bias", np.zeros(2, np.float16)), "does not match"),
        (retensored("words.idf", None), "does not match"),
        (retensored("more", np.zeros(2, np.float16)), "does not match"),
        (retensored("words.idf", np.array([1, np.nan, 1], np.float16)), "NaN"),
        (retensored("words.idf", np.array([1, 2, 3], np.int64)), "type"),
    ],
)
def test_damaged_files_are_refused_in_a_sentence(damage: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    READER.save(tmp_path)
    damage(tmp_path)
    with pytest.raises(GlassformerError, match=message):
        CountingReader.load(tmp_path)
