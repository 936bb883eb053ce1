import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from glassformer.data import arrays
from glassformer.data.arrays import mapping_in
from glassformer.errors import GlassformerError
from glassformer.readers.counting import fitting, problem
from glassformer.readers.counting.fitting import Counting, fit_counting
from glassformer.readers.counting.ngrams import NGRAMS, runs_of, words_of
from glassformer.readers.counting.reader import CountingReader
from glassformer.readers.counting.regression import regression_per_output
from glassformer.readers.folds import folds_of
from glassformer.readers.joining import join
from glassformer.readers.reader import Fold
from tests.readers.counting.samples import ADJECTIVES, NOUNS, opinions

TEXTS, LABELS = opinions(240)
ROWS = np.arange(240)
FOLD = Fold(learned=ROWS[:200], held_out=ROWS[200:])


def accuracy(logits: np.ndarray, labels: np.ndarray) -> float:
    return float((logits.argmax(axis=1) == labels).mean())


@pytest.mark.parametrize("counting", ["auto", "tfidf", "nb"])
@pytest.mark.parametrize("classes", [2, 3])
def test_every_way_of_counting_learns_the_telling_words(counting: Counting, classes: int) -> None:
    texts, labels = opinions(240, classes=classes)
    fitted = fit_counting(counting, texts, labels, n_classes=classes, folds=[FOLD])
    new, truth = opinions(100, classes=classes, seed=9, noise=0)
    assert accuracy(fitted.reader.scores(new), truth) == 1
    assert fitted.held_out.shape == (40, classes)
    assert accuracy(fitted.held_out, labels[200:]) > 0.8


def test_the_weights_of_long_texts_are_the_best_ones() -> None:
    """A text of 500 n-grams has small values, and so have the slopes that say whether a fit is done."""
    draw = np.random.default_rng(0)
    values = sparse.random_array((1_000, 20_000), density=0.025, rng=draw, format="csr", dtype=np.float32)
    values = sparse.csr_matrix(normalize(values))
    target = values @ draw.normal(size=20_000) > 0
    weights, bias = regression_per_output(values, target[:, None], strength=16, row_weights=np.ones(1_000, np.float32))
    best = LogisticRegression(C=16, tol=1e-8, max_iter=2_000).fit(values, target).decision_function(values)
    assert np.abs((values @ weights + bias)[:, 0] - best).max() < 0.05 * best.std()


def test_held_out_rows_are_answered_by_a_reader_that_has_not_seen_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text has a word of its own: a reader that has seen it knows its label by heart."""
    monkeypatch.setattr(fitting, "FEWEST_TEXTS", 1)
    texts = [f"word{number} is here" for number in range(40)]
    labels = np.random.default_rng(0).permutation(np.arange(40) % 2)
    fitted = fit_counting("tfidf", texts, labels, n_classes=2, folds=folds_of(labels, seed=0))
    held_out = np.concatenate([fold.held_out for fold in folds_of(labels, seed=0)])
    assert sorted(held_out.tolist()) == list(range(40))
    assert accuracy(fitted.reader.scores(texts), labels) == 1
    assert accuracy(fitted.held_out, labels[held_out]) < 0.8


def test_the_tfidf_reader_computes_what_scikit_learn_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "STRENGTHS", {"tfidf": (4.0,), "nb": (0.3,)})
    monkeypatch.setattr(problem, "NGRAMS", {"words": NGRAMS["words"]})
    texts, labels = opinions(60, classes=3)
    fitted = fit_counting(
        "tfidf", texts, labels, n_classes=3, folds=[Fold(learned=np.arange(50), held_out=np.arange(50, 60))]
    )
    fewest = fitted.reader.settings["fewest_texts"]
    vectorizer = TfidfVectorizer(analyzer=lambda text: runs_of(words_of(text)), sublinear_tf=True, min_df=fewest)
    model = LogisticRegression(C=4.0, tol=1e-3, max_iter=200).fit(vectorizer.fit_transform(texts), labels)
    weight = fitted.reader.settings["ways"]["tfidf"]["weight"]
    new = ["a clever plot , a dull ending", "loud loud loud", "nothing known"]
    expected = weight * model.decision_function(vectorizer.transform(new))
    centred = fitted.reader.scores(new) - fitted.reader.scores(new).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(centred, expected - expected.mean(axis=1, keepdims=True), atol=0.03)


@pytest.mark.parametrize(("rows", "single", "expected"), [(59, 0.5, 1), (59, 2.9, 1), (59, 3.1, 2), (60, 0.5, 2)])
def test_in_a_small_table_the_log_loss_decides_about_ngrams_of_a_single_text(
    monkeypatch: pytest.MonkeyPatch, rows: int, single: float, expected: int
) -> None:
    plan = fitting._Problem.plan

    def with_loss(given: fitting._Problem, ways: Any, fewest: int, *rest: Any) -> tuple[float, fitting._Plan]:
        return (single if fewest == 1 else 1.0), plan(given, ways, fewest, *rest)[1]

    monkeypatch.setattr(fitting._Problem, "plan", with_loss)
    monkeypatch.setattr(fitting, "_ROWS_TO_LEAVE_OUT_RARE", 60)
    texts, labels = opinions(rows)
    texts[7] += " unique"
    reader = fit_counting("auto", texts, labels, n_classes=2, folds=folds_of(labels, seed=0)).reader
    assert reader.settings["fewest_texts"] == expected
    assert ("unique" in {ngram for family in reader.families for ngram in family.ngrams}) == (expected == 1)
    asked = fit_counting("auto", texts, labels, n_classes=2, folds=folds_of(labels, seed=0), fewest=1).reader
    assert asked.settings["fewest_texts"] == 1


def test_naive_bayes_alone_counts_no_pieces_of_words() -> None:
    texts, labels = opinions(40)
    fitted = fit_counting("nb", texts, labels, n_classes=2, folds=folds_of(labels, seed=0))
    assert [family.family for family in fitted.reader.families] == ["words"]


def test_naive_bayes_has_less_weight_than_tfidf_while_rows_are_few_and_no_body_reads() -> None:
    def share(rows: int, *, beside_body: bool = False) -> float:
        """Return the share of naive Bayes in the weights, a mean over three tables."""
        shares = []
        for seed in range(3):
            texts, labels = opinions(rows, seed=seed, noise=0.3)
            folds = folds_of(labels, seed=0)
            fitted = fit_counting("auto", texts, labels, n_classes=2, folds=folds, beside_body=beside_body)
            weights = {way: each["weight"] for way, each in fitted.reader.settings["ways"].items()}
            shares.append(weights.get("nb", 0) / sum(weights.values()))
        return float(np.mean(shares))

    assert share(24) < 0.25
    assert share(24, beside_body=True) > 0.4
    assert share(1_000) > 0.4


def test_a_reader_is_the_same_after_saving(tmp_path: Path) -> None:
    texts, labels = opinions(120, classes=3)
    reader = fit_counting(
        "auto", texts, labels, n_classes=3, folds=[Fold(learned=np.arange(90), held_out=np.arange(90, 120))]
    ).reader
    reader.save(tmp_path)
    again = CountingReader.load(tmp_path)
    assert np.array_equal(again.scores(TEXTS), reader.scores(TEXTS))
    assert again.settings == reader.settings


def test_several_labels_per_text() -> None:
    texts, first = opinions(200)
    _, third = opinions(200, classes=3, seed=4)
    both = [f"{text} {'indeed' if flag else ''}" for text, flag in zip(texts, third == 0, strict=True)]
    labels = np.stack([first == 1, third == 0, np.zeros(200)], axis=1).astype(np.uint8)
    fitted = fit_counting("auto", both, labels, n_classes=3, folds=folds_of(labels, seed=0))
    answered = fitted.reader.scores(["the plot is superb indeed", "the plot is dull"]) > 0
    assert answered.tolist() == [[True, True, False], [False, False, False]]


def test_weights_of_rows_and_classes_move_the_answers() -> None:
    """A text that tells nothing gets the label of the heavier rows."""
    texts, labels = opinions(80)
    heavy = np.where(labels == 1, 5.0, 1.0).astype(np.float32)
    folds = folds_of(labels, seed=0)
    even = fit_counting("tfidf", texts, labels, n_classes=2, folds=folds).reader.scores(["…"])
    heavier = fit_counting("tfidf", texts, labels, n_classes=2, folds=folds, row_weights=heavy).reader.scores(["…"])
    assert heavier[0, 1] - heavier[0, 0] > even[0, 1] - even[0, 0] + 0.3
    hot = np.eye(2, dtype=np.uint8)[labels]
    positive = np.array([1.0, 5.0], np.float32)
    plain = fit_counting("tfidf", texts, hot, n_classes=2, folds=folds).reader.scores(["…"])
    weighed = fit_counting("tfidf", texts, hot, n_classes=2, folds=folds, positive_weights=positive).reader.scores(
        ["…"]
    )
    assert weighed[0, 1] > plain[0, 1] + 0.3


def test_a_class_that_a_fold_lacks_is_no_error() -> None:
    texts, labels = opinions(42, classes=2)
    labels = labels.copy()
    labels[:2] = 2  # both rows of a third class are held out by the first fold
    rows = np.arange(42)
    folds = [Fold(learned=rows[~part], held_out=rows[part]) for part in (rows < 14, rows // 14 == 1, rows >= 28)]
    fitted = fit_counting("auto", texts, labels, n_classes=3, folds=folds)
    assert np.isfinite(fitted.held_out).all()
    assert np.isfinite(fitted.reader.scores(texts)).all()


@pytest.mark.parametrize("texts", [["…"] * 30, [""] * 30, ["\u200b"] * 30])
def test_texts_that_tell_nothing_give_the_frequencies(texts: list[str]) -> None:
    labels = np.array([0] * 20 + [1] * 10)
    folds = folds_of(labels, seed=0)
    fitted = fit_counting("auto", texts, labels, n_classes=2, folds=folds)
    (weight,) = join([fitted.held_out], labels[np.concatenate([f.held_out for f in folds])], multilabel=False).weights
    for logits in fitted.reader.scores(["anything", texts[0]]):
        assert 1 / (1 + np.exp(weight * (logits[1] - logits[0]))) == pytest.approx(2 / 3, abs=0.05)


def test_too_many_ngrams_are_pruned_to_the_telling_ones(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(problem, "_BYTES", 600)
    reader = fit_counting("auto", TEXTS, LABELS, n_classes=2, folds=[FOLD]).reader
    kept = {ngram for family in reader.families for ngram in family.ngrams}
    assert 10 < len(kept) < 60
    assert any(ngram.strip() in " ".join(ADJECTIVES[0]) for ngram in kept)
    assert not kept & {"the", "and", "so", *NOUNS}
    reader.save(tmp_path)
    weights = sum(
        array.nbytes // 2
        for family in reader.families
        for array in dataclasses.astuple(family)[2:]
        if array is not None
    )
    names = sum(len(ngram.encode()) + 3 for ngram in kept)
    assert weights + names <= 600


def test_in_a_larger_table_chi_squared_chooses_the_ngrams(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "_ROWS_TO_LEAVE_OUT_RARE", len(TEXTS))
    whole = fit_counting("tfidf", TEXTS, LABELS, n_classes=2, folds=[FOLD]).reader
    monkeypatch.setattr(problem, "_BYTES", 600)
    reader = fit_counting("tfidf", TEXTS, LABELS, n_classes=2, folds=[FOLD]).reader
    kept, known = ({ngram for family in each.families for ngram in family.ngrams} for each in (reader, whole))
    assert 10 < len(kept) < 60 < len(known)
    assert kept < known
    assert not kept & {"the", "and", "so", *NOUNS}
    assert accuracy(reader.scores(TEXTS), LABELS) > 0.85


def test_of_a_long_table_some_rows_name_the_ngrams(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = fit_counting("auto", TEXTS, LABELS, n_classes=2, folds=[FOLD]).reader
    monkeypatch.setattr(problem, "_LONGEST_TO_LEARN_NGRAMS", sum(map(len, TEXTS)) // 3)
    reader = fit_counting("auto", TEXTS, LABELS, n_classes=2, folds=[FOLD]).reader
    named, known = ({ngram for family in each.families for ngram in family.ngrams} for each in (reader, whole))
    assert named < known
    assert accuracy(reader.scores(TEXTS), LABELS) > 0.85


def test_of_very_many_rows_some_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    learned: list[int] = []
    fitted = fitting._Problem.fitted

    def told(given: fitting._Problem, model: problem.Model, plan: fitting._Plan, rows: np.ndarray) -> problem.Model:
        learned.append(len(rows))
        return fitted(given, model, plan, rows)

    monkeypatch.setattr(fitting._Problem, "fitted", told)
    monkeypatch.setattr(fitting, "MOST_ROWS_TO_CHOOSE_BY", 50)
    monkeypatch.setattr(fitting, "_MOST_ROWS_TO_CROSS_VALIDATE", 100)
    found = fit_counting("auto", TEXTS, LABELS, n_classes=2, folds=[FOLD])
    assert set(learned[:-2]) == {50}
    assert learned[-2:] == [200, 240]  # the held-out rows are answered, and the reader is fitted, from all rows
    assert found.held_out.shape == (40, 2)


def test_rows_with_the_same_text_are_held_out_together() -> None:
    labels, texts = np.arange(60) % 3, np.arange(60) % 43 // 2
    folds = folds_of(labels, seed=0, texts=texts)
    assert all(not set(texts[fold.learned]) & set(texts[fold.held_out]) for fold in folds)
    assert sorted(np.concatenate([fold.held_out for fold in folds])) == list(range(60))
    for alone in (np.zeros(60), np.arange(60) % 19, np.arange(60)[::-1]):  # few texts, and no text twice
        for fold, plain in zip(folds_of(labels, seed=0, texts=alone), folds_of(labels, seed=0), strict=True):
            assert np.array_equal(fold.held_out, plain.held_out)


def test_copies_of_rows_do_not_choose_a_weaker_regularisation() -> None:
    """Labels that no word tells: only a reader that knows a copy of a row can answer it."""
    labels = np.random.default_rng(0).permutation(np.arange(60) % 2)
    texts = [f"word{number} here" for number in range(60)]
    fold = Fold(learned=np.arange(100), held_out=np.arange(100, 120))
    fitted = fit_counting("tfidf", texts * 2, np.tile(labels, 2), n_classes=2, folds=[fold])
    assert fitted.reader.settings["ways"]["tfidf"]["C"] <= 1


def test_a_fold_is_thinned_on_both_sides_by_chance() -> None:
    """Rows whose labels alternate keep both labels."""
    fold = Fold(learned=np.arange(0, 1000), held_out=np.arange(1000, 1200)).thinned(250, 0)
    assert (len(set(fold.learned)), len(set(fold.held_out))) == (250, 200)
    assert 100 < (fold.learned % 2).sum() < 150
    assert fold.learned.max() < 1000 <= fold.held_out.min()
    assert len(Fold(learned=fold.learned, held_out=np.arange(600)).thinned(250, 0).held_out) == 250


def test_a_single_row_to_learn_from_is_no_error() -> None:
    fitted = fit_counting(
        "auto", TEXTS[:4], LABELS[:4], n_classes=2, folds=[Fold(learned=ROWS[:1], held_out=ROWS[1:4])]
    )
    assert fitted.held_out.shape == (3, 2)


def test_folds_keep_groups_together_and_classes_in_proportion() -> None:
    labels = np.array([0] * 30 + [1] * 10)
    groups = np.arange(40) // 5
    for fold in folds_of(labels, seed=0, groups=groups):
        assert not set(groups[fold.learned]) & set(groups[fold.held_out])
    for fold in folds_of(labels, seed=0):
        assert 2 <= labels[fold.held_out].sum() <= 3
        assert sorted([*fold.learned, *fold.held_out]) == list(range(40))


@pytest.mark.parametrize(("n_groups", "n_folds"), [(1, 4), (2, 2), (3, 3), (4, 4), (9, 4)])
def test_no_group_is_split_while_there_are_two(n_groups: int, n_folds: int) -> None:
    groups = np.arange(40) % n_groups
    folds = folds_of(np.arange(40) // 5 % 2, seed=0, groups=groups)
    assert len(folds) == n_folds
    split = [set(groups[fold.learned]) & set(groups[fold.held_out]) for fold in folds]
    assert any(split) == (n_groups == 1)


def test_cross_validation_of_the_strength_splits_no_group() -> None:
    """Words that occur in a single group tell its label. They help on rows of this group alone."""
    groups = np.arange(160) // 4
    labels = np.random.default_rng(0).permutation(np.arange(40) % 2)[groups]
    texts = [f"author{group} wrote a text number{row}" for row, group in enumerate(groups)]
    fold = Fold(learned=np.arange(140), held_out=np.arange(140, 160))
    split, whole = (
        fit_counting("tfidf", texts, labels, n_classes=2, folds=[fold], groups=given).reader.settings["ways"]["tfidf"]
        for given in (None, groups[:140])
    )
    assert split["C"] > whole["C"]


def test_the_fit_does_not_depend_on_chance() -> None:
    first, second = (fit_counting("auto", TEXTS, LABELS, n_classes=2, folds=[FOLD], seed=1) for _ in range(2))
    assert np.array_equal(first.held_out, second.held_out)
    assert np.array_equal(first.reader.scores(TEXTS), second.reader.scores(TEXTS))


@pytest.mark.parametrize("labels", [LABELS, np.eye(2, dtype=np.uint8)[LABELS]], ids=["one", "several"])
def test_large_matrices_in_files_give_the_same_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, labels: np.ndarray
) -> None:
    plain = fit_counting("auto", TEXTS, labels, n_classes=2, folds=[FOLD], fewest=2)
    monkeypatch.setattr(arrays, "_MOST_IN_MEMORY", 0)
    monkeypatch.setattr(arrays, "_ROWS_AT_ONCE", 70)
    with mapping_in(tmp_path):
        found = fit_counting("auto", TEXTS, labels, n_classes=2, folds=[FOLD], fewest=2)
    assert found.reader.settings == plain.reader.settings
    np.testing.assert_array_equal(found.held_out, plain.held_out)
    np.testing.assert_array_equal(found.reader.scores(TEXTS), plain.reader.scores(TEXTS))
    (gone := tmp_path / "gone").mkdir()
    with mapping_in(gone):
        gone.rmdir()
        with pytest.raises(GlassformerError, match="nothing more can be written in"):
            fit_counting("auto", TEXTS, labels, n_classes=2, folds=[FOLD], fewest=2)
