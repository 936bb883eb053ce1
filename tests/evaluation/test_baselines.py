import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from glassformer.data.inputs import Category, Inputs
from glassformer.evaluation import baselines
from glassformer.evaluation.baselines import MajorityBaseline, RowFeatures, TfidfBaseline, run_baseline, word_pattern

TEXTS = ["a good film", "good fun", "so good", "a bad film", "bad, dull", "so bad", "it is a chair", "chair"]
LABELS = np.array([1, 1, 1, 0, 0, 0, 2, 2])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't: I've 3 naïve cats_", ["Don", "t", "I", "ve", "3", "naïve", "cats_"]),
        ("nai\u0308ve", ["nai\u0308ve"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("我喜欢it", ["我", "喜", "欢", "it"]),
        ("です カナ", ["で", "す", "カ", "ナ"]),
        ("ดีมาก", ["ดี", "ม", "า", "ก"]),
        ("한국어 좋다", ["한국어", "좋다"]),
        ("👍 :)", []),
    ],
)
def test_words_of_any_language(text: str, words: list[str]) -> None:
    assert word_pattern().findall(text) == words


def test_tfidf_learns_and_counts_its_cost() -> None:
    outcome = run_baseline(TfidfBaseline(3), train_texts=TEXTS, truth=LABELS, texts=["good, good", "a chair"])
    assert outcome.answers.argmax(axis=1).tolist() == [1, 2]
    np.testing.assert_allclose(outcome.answers.sum(axis=1), 1)
    assert (outcome.fit_seconds or 0) > 0
    assert (outcome.predict_seconds or 0) > 0
    assert (outcome.size_bytes or 0) > 0


def test_size_is_vocabulary_and_float32_numbers() -> None:
    baseline = TfidfBaseline(2).fit(["ab é", "ab"], np.array([0, 1]))
    # "ab" 2 bytes, "é" 2, "ab é" 5; three idf, three weights and one bias
    assert baseline.size_bytes == 9 + 4 * (3 + 3 + 1)


def test_word_order_reaches_it_as_pairs() -> None:
    baseline = TfidfBaseline(2).fit(["good not bad", "bad not good"] * 5, np.array([1, 0] * 5))
    assert baseline.answers(["good not bad", "bad not good"]).argmax(axis=1).tolist() == [1, 0]


def test_a_class_without_training_rows_gets_no_probability() -> None:
    probs = TfidfBaseline(5).fit(TEXTS, LABELS).answers(["good"])
    assert probs.shape == (1, 5)
    assert probs[0, 3] == probs[0, 4] == 0


def test_several_labels_with_one_constant() -> None:
    labels = np.stack([LABELS == 1, LABELS == 0, np.zeros(8), np.ones(8)], axis=1).astype(np.uint8)
    probs = TfidfBaseline(4).fit(TEXTS, labels).answers(["good", "bad", "?"])
    assert (probs[:2] >= 0.5).tolist() == [[True, False, False, True], [False, True, False, True]]


def test_texts_without_words_and_one_class() -> None:
    smileys = TfidfBaseline(2).fit([":)", ":(", ":))", ":(("], np.array([1, 0, 1, 0]))
    assert smileys.answers([":)", ":("]).argmax(axis=1).tolist() == [1, 0]
    assert TfidfBaseline(2).fit(["a", "b"], np.array([1, 1])).answers(["c"]).tolist() == [[0, 1]]


def test_rare_words_are_left_out_of_large_tables_only() -> None:
    large = TfidfBaseline(2).fit([f"w{i} x{i % 2}" for i in range(1000)], np.arange(1000) % 2)
    assert set(large.vectorizer.vocabulary_) == {"x0", "x1"}
    assert "once" in TfidfBaseline(2).fit(["once", "twice"], np.array([0, 1])).vectorizer.vocabulary_


def test_a_large_table_in_which_no_word_occurs_twice() -> None:
    names = TfidfBaseline(2).fit([f"n{i}" for i in range(1001)], np.arange(1001) % 2)
    assert len(names.vectorizer.vocabulary_) == 1001


def noisy_rows() -> tuple[list[str], np.ndarray]:
    """One of nine words decides the class, and is wrong in 30% of the rows: strong regularisation is best."""
    draw, labels = np.random.default_rng(0), np.arange(200) % 2
    decides = ["good" if label != (draw.random() < 0.3) else "bad" for label in labels]
    return [" ".join([*(f"w{i}" for i in draw.integers(0, 400, 8)), word]) for word in decides], labels


def clear_rows() -> tuple[list[str], np.ndarray]:
    """One of 21 words decides the rare class: weak regularisation is best."""
    draw, labels = np.random.default_rng(0), (np.arange(200) % 5 == 0).astype(np.int64)
    return [" ".join([*(f"w{i}" for i in draw.integers(0, 30, 20)), *["good"] * label]) for label in labels], labels


def chosen_c(texts: list[str], labels: np.ndarray) -> tuple[float, str]:
    """Return the C that the description names, and how it was chosen."""
    fitted = TfidfBaseline(2).fit(texts, labels)
    c, how = fitted.description.partition("C = ")[2].split(" ", 1)
    assert {model.C for model in fitted.models if not isinstance(model, int)} <= {float(c)}
    return float(c), how


@pytest.mark.parametrize(("rows", "c"), [(noisy_rows(), 1), (clear_rows(), 64)])
def test_c_is_chosen_by_cross_validation(rows: tuple[list[str], np.ndarray], c: float) -> None:
    texts, labels = rows
    assert chosen_c(texts, labels) == (c, "by 5-fold cross-validation")
    both = np.stack([labels, 1 - labels], axis=1).astype(np.uint8)
    assert chosen_c(texts, both) == (c, "by 5-fold cross-validation")


def grouped_rows() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Each group has a word of its own, and one label. Rows of a group tell each other's labels, and nothing else."""
    draw, groups = np.random.default_rng(0), np.arange(200) // 5
    words = [" ".join(f"w{i}" for i in draw.integers(0, 30, 20)) for _ in groups]
    return [f"{text} author{group}" for text, group in zip(words, groups, strict=True)], groups % 2, groups


@pytest.mark.parametrize("most", [baselines.MOST_FOLDED, 0], ids=["folds", "a held-out fifth"])
def test_rows_of_one_group_are_held_out_together(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baselines, "MOST_FOLDED", most)
    texts, labels, groups = grouped_rows()
    baseline = TfidfBaseline(2, groups=groups)
    folds, how = baseline._folds(baselines.word_features(texts)[1], labels)
    assert len(folds) == (5 if most else 1)
    assert all(not set(groups[learned]) & set(groups[held_out]) for learned, held_out in folds)
    assert baseline.fit(texts, labels).description.endswith(how)
    alone = TfidfBaseline(2, groups=groups * 0).fit(texts, labels).description
    assert alone == TfidfBaseline(2).fit(texts, labels).description


def test_of_equally_good_values_the_smallest_is_taken() -> None:
    assert chosen_c(["good film", "bad film"] * 10, np.array([1, 0] * 10)) == (1, "by 5-fold cross-validation")


@pytest.mark.parametrize(("texts", "labels", "how"), [
    (["a b", "a c", "d e", "d f"], [0, 0, 1, 1], "by 2-fold cross-validation"),
    (["a b", "a c", "a d", "d e"], [0, 0, 0, 1], "by 3-fold cross-validation"),
    (["a", "b"], [0, 1], "as there are too few rows to choose it"),
    (["a", "b"], [[1, 0], [0, 1]], "by 2-fold cross-validation"),
    (["a"], [[1, 0]], "as there are too few rows to choose it"),
])  # fmt: skip
def test_few_rows_of_a_class(texts: list[str], labels: list[int], how: str) -> None:
    assert chosen_c(texts, np.array(labels)) == (4 if "too few" in how else 1, how)


def test_large_tables_choose_c_on_a_held_out_fifth(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, labels = noisy_rows()
    learned: list[int] = []
    fit = baselines._fit_one

    def counting(features: csr_matrix, target: np.ndarray, c: float) -> LogisticRegression | int:
        learned.append(len(target))
        return fit(features, target, c)

    monkeypatch.setattr(baselines, "_fit_one", counting)
    monkeypatch.setattr(baselines, "MOST_FOLDED", 0)
    assert chosen_c(texts, labels)[1] == "by the accuracy on a held-out fifth"
    features = TfidfVectorizer(ngram_range=(1, 2)).fit_transform(texts)
    monkeypatch.setattr(baselines, "MOST_LEARNED", features.nnz // 2)
    chosen_c(texts, labels)
    assert learned == [160] * 4 + [200] + [pytest.approx(100, abs=2)] * 4 + [200]


def test_majority_answers_the_shares_of_training() -> None:
    outcome = run_baseline(MajorityBaseline(3), train_texts=TEXTS, truth=LABELS, texts=["x", "y"])
    assert outcome.answers.tolist() == [[3 / 8, 3 / 8, 2 / 8]] * 2
    labels = np.array([[1, 0], [1, 1], [1, 0]], dtype=np.uint8)
    assert MajorityBaseline(2).fit(["a"] * 3, labels).answers(["x"]).tolist() == [[1, pytest.approx(1 / 3)]]


def test_the_baseline_sees_each_text_and_each_column() -> None:
    inputs = Inputs(texts=("a", "b"), columns=(Category(name="shop", values=("Ulm",)),))
    rows = [
        inputs.compose({"a": a, "b": b, "shop": shop})
        for a, b, shop in [("red lamp", "yes", "Ulm"), ("red desk", "no", None), ("blue lamp", "no", "Ulm")]
    ]
    features = RowFeatures(rows)
    words = [name for each in features.words for name in each.vocabulary_]
    names = [*words, "shop=Ulm", "shop=missing"]
    assert features.size_bytes == sum(len(name.encode()) for name in names) + 4 * len(words)
    assert features.matrix.shape == (3, len(names))
    assert (features.of(rows) != features.matrix).nnz == 0
    assert features.matrix[:, -2:].toarray().tolist() == [[1, 0], [0, 1], [1, 0]]
    assert features.of([rows[0].replace("yes", "")]).nnz == features.matrix[0].nnz - 1
    baseline = TfidfBaseline(2).fit(rows * 4, np.array([1, 0, 1] * 4))
    assert baseline.answers(rows).argmax(axis=1).tolist() == [1, 0, 1]
    assert baseline.size_bytes > 0


def test_a_text_that_was_blank_in_all_rows_has_no_features() -> None:
    inputs = Inputs(texts=("question", "answer"))
    learned = [inputs.compose({"question": "", "answer": answer}) for answer in ("red fox", "red hen")]
    features = RowFeatures(learned)
    asked = [inputs.compose({"question": "red", "answer": "fox"}), inputs.compose({"question": "red", "answer": ""})]
    assert [row.nnz for row in features.of(asked)] == [1, 0]
