"""Encoders that are tuned on pairs of rows."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from glassformer.readers.encoder import training_tuned
from glassformer.readers.encoder.prediction import EncoderReader, TextEncoder
from glassformer.readers.encoder.training import fit_encoder
from glassformer.readers.encoder.training_tuned import Say, draw_pairs, tuned
from glassformer.readers.folds import folds_of
from glassformer.readers.reader import FittedReader, Rows
from glassformer.training.loop import Silent
from tests.readers.body.test_body import rows_of
from tests.readers.encoder.test_encoder import LABELS, TEXTS, encoder, folder  # noqa: F401 (fixtures)


def test_pairs_are_of_the_same_label_and_of_others() -> None:
    one, other, alike = draw_pairs(np.array([0, 1, 1, 2]), 3, 0)
    assert len(one) == 3 * 2 + 3 * 4, "the rows of the labels 0 and 2 are alone"
    assert set(zip(one[alike == 1].tolist(), other[alike == 1].tolist(), strict=True)) == {(1, 2), (2, 1)}
    assert (one != other).all()
    assert [len(part) for part in draw_pairs(np.array([0]), 3, 0)] == [0, 0, 0]


def test_how_alike_several_labels_and_numbers_are() -> None:
    several = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]])
    one, other, alike = draw_pairs(several, 20, 0)
    found = {(a, b): value for a, b, value in zip(one.tolist(), other.tolist(), alike.tolist(), strict=True)}
    assert (found[0, 1], found[0, 2], found[2, 3]) == (0.5, 0, 0)
    one, other, alike = draw_pairs(np.array([0.0, 0.25, 3.0]), 20, 0)
    found = {(a, b): value for a, b, value in zip(one.tolist(), other.tolist(), alike.tolist(), strict=True)}
    assert (found[0, 1], found[0, 2]) == (0.75, 0)


def cosines(vectors: np.ndarray) -> tuple[float, float]:
    """The mean cosine of two texts with the same label, and with another."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    same = np.equal.outer(LABELS[:4], LABELS[:4])
    return float((unit @ unit.T)[same].mean()), float((unit @ unit.T)[~same].mean())


def test_texts_of_one_label_come_near_each_other(encoder: TextEncoder, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(training_tuned, "_RATE", 1e-2)
    before = encoder.fingerprint
    found = tuned(encoder, rows_of(TEXTS, LABELS), 20, lambda _: None)
    (near, far), (was_near, was_far) = cosines(found.vectors(TEXTS[:4])), cosines(encoder.vectors(TEXTS[:4]))
    assert near - far > was_near - was_far + 0.1
    again = tuned(encoder, rows_of(TEXTS, LABELS), 20, lambda _: None)
    assert again.fingerprint == found.fingerprint != before
    assert replace(encoder).fingerprint == before, "the encoder itself stays as it was"


def test_rows_without_weight_are_not_tuned_on(encoder: TextEncoder, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(training_tuned, "_RATE", 1e-2)
    wrong = [1 - label for label in LABELS]
    rows = replace(rows_of(TEXTS * 2, LABELS + wrong), weights=np.repeat(np.array([2, 0], np.float32), len(TEXTS)))
    near, far = cosines(tuned(encoder, rows, 20, lambda _: None).vectors(TEXTS[:4]))
    was_near, was_far = cosines(encoder.vectors(TEXTS[:4]))
    assert near - far > was_near - was_far + 0.1


def test_a_fold_is_not_tuned_on_its_held_out_rows_nor_twice(
    encoder: TextEncoder,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [f"{text} {number}" for number, text in enumerate(TEXTS)]
    rows, seen, real = rows_of(texts, LABELS), list[list[str]](), training_tuned.tuned
    folds = folds_of(rows.truth, seed=0)

    def recorded(own: TextEncoder, some: Rows, times: int, say: Say) -> TextEncoder:
        seen.append(list(some.texts))
        return real(own, some, times, say)

    def fit(tune: int) -> FittedReader[EncoderReader]:
        return fit_encoder(encoder, rows, folds, tune=tune, work=tmp_path, device="cpu", observer=Silent())

    monkeypatch.setattr("glassformer.readers.encoder.training.tuned", recorded)
    monkeypatch.setattr(training_tuned, "_RATE", 3e-3)
    first = fit(1)
    assert [set(some) for some in seen] == [*({texts[row] for row in fold.learned} for fold in folds), set(texts)]
    seen.clear()
    again = fit(1)
    assert [len(some) for some in seen] == [16], "the vectors of the folds were kept"
    assert np.array_equal(again.held_out, first.held_out)
    assert not np.array_equal(fit(0).held_out, first.held_out)
    (tmp_path / "reader").mkdir()
    first.reader.save(tmp_path / "reader")
    assert np.array_equal(EncoderReader.load(tmp_path / "reader").scores(texts), first.reader.scores(texts))
