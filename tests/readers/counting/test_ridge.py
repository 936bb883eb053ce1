"""The counting reader of numbers, against scikit-learn."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge

from glassformer.data import arrays
from glassformer.data.arrays import mapping_in
from glassformer.readers.counting.ngrams import pieces_of, runs_of, words_of
from glassformer.readers.counting.reader import CountingReader
from glassformer.readers.counting.ridge import fit_ridge, strata_of
from glassformer.readers.reader import Fold

WORDS = {"awful": -2.0, "poor": -1.0, "fair": 0.0, "fine": 1.0, "superb": 2.0}
THINGS = ("film", "book", "song")


def graded(rows: int) -> tuple[list[str], np.ndarray]:
    draw = np.random.default_rng(3)
    names = list(WORDS)
    chosen = draw.integers(0, len(names), rows)
    texts = [f"a {names[word]} {THINGS[number % 3]}" for number, word in enumerate(chosen)]
    return texts, np.array([WORDS[names[word]] for word in chosen]) / np.sqrt(2)


def test_it_is_ridge_regression_on_the_same_values() -> None:
    texts, targets = graded(80)
    rows = np.arange(80)
    fitted = fit_ridge(texts, targets, folds=[Fold(learned=rows[:60], held_out=rows[60:])])
    alpha = fitted.reader.settings["ridge"]["alpha"]
    parts = [
        TfidfVectorizer(analyzer=analyzer, sublinear_tf=True, min_df=2)
        for analyzer in (
            lambda text: list(runs_of(words_of(text))),
            lambda text: [piece for word in words_of(text) for piece in pieces_of(word)],
        )
    ]
    values = np.concatenate([part.fit_transform(texts).toarray() for part in parts], axis=1)
    model = Ridge(alpha=alpha).fit(values, targets)
    np.testing.assert_allclose(fitted.reader.scores(texts)[:, 0], model.predict(values), atol=3e-3)  # float16 weights
    assert fitted.held_out.shape == (20, 1)
    assert np.corrcoef(fitted.held_out[:, 0], targets[60:])[0, 1] > 0.99


def test_several_folds_hold_out_each_row_once_and_the_file_gives_the_same_reader(tmp_path: object) -> None:
    texts, targets = graded(40)
    rows = np.arange(40)
    folds = [Fold(learned=np.delete(rows, rows[k::4]), held_out=rows[k::4]) for k in range(4)]
    fitted = fit_ridge(texts, targets, folds=folds)
    assert fitted.held_out.shape == (40, 1)
    fitted.reader.save(tmp_path)  # type: ignore[arg-type]
    again = CountingReader.load(tmp_path)  # type: ignore[arg-type]
    np.testing.assert_allclose(again.scores(texts), fitted.reader.scores(texts), atol=1e-6)


def test_texts_without_a_common_word_get_the_mean() -> None:
    texts, rows = ["aaa", "bbb", "ccc", "ddd"], np.arange(4)
    folds = [Fold(learned=np.delete(rows, k), held_out=rows[k : k + 1]) for k in range(4)]
    fitted = fit_ridge(texts, np.array([0.0, 0.0, 0.0, 4.0]), folds=folds)
    np.testing.assert_allclose(fitted.held_out[:, 0], [4 / 3, 4 / 3, 4 / 3, 0], atol=1e-6)


def test_strata_hold_a_fifth_of_the_numbers_each() -> None:
    draw = np.random.default_rng(2)
    numbers = draw.normal(size=50)
    strata = strata_of(numbers)
    assert np.bincount(strata).tolist() == [10] * 5
    assert numbers[strata == 0].max() < numbers[strata == 1].min()


def test_large_matrices_in_files_give_the_same_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts, targets = graded(80)
    folds = [Fold(learned=np.arange(60), held_out=np.arange(60, 80))]
    plain = fit_ridge(texts, targets, folds=folds)
    monkeypatch.setattr(arrays, "_MOST_IN_MEMORY", 0)
    monkeypatch.setattr(arrays, "_ROWS_AT_ONCE", 30)
    with mapping_in(tmp_path):
        found = fit_ridge(texts, targets, folds=folds)
    np.testing.assert_array_equal(found.held_out, plain.held_out)
    np.testing.assert_array_equal(found.reader.scores(texts), plain.reader.scores(texts))
