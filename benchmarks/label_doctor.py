"""Does `glassformer labels` find wrong labels? It looks for labels that were made wrong, beside cleanlab.

    python -m benchmarks.label_doctor
    python -m benchmarks.label_doctor --quick

5% and 20% of the training rows get another label, all others being equally likely. The held-out probabilities are those
of `glassformer labels`, and cleanlab ranks and filters by the same ones. Then TF-IDF + logistic regression learns from
the wrong labels, from mended tables and from the right labels, and answers the test rows. "Checked" is what a person
gets who reads the listed rows and knows the right labels. Test rows decide nothing else. Finished lines are kept in the
work folder.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline

from benchmarks.bench_data import read_rows, some_rows, with_wrong_labels
from benchmarks.experiment import arguments, running
from benchmarks.models import apart_from
from benchmarks.tables_labels import labels_tables
from glassformer.data.labels import LabelSet
from glassformer.data.splits import fingerprint
from glassformer.data.table import Table
from glassformer.labels.answering import held_out_probabilities, rows_of
from glassformer.labels.doubts import FOLDS, doubtful, folds_apart
from glassformer.labels.repeats import Repeats

TABLES: dict[str, int | None] = {"disaster-tweets": None, "trec": None, "imdb": 2_500}
"""The tables, and how many training rows are drawn, and as many test rows; None for all."""
SHARES, SEEDS = (0.05, 0.2), (0, 1, 2)
QUICK_ROWS = 200
STRENGTH = 4  # C of the logistic regression that learns from each version of a table


def main() -> None:
    """Run the benchmark that the command line asks for."""
    options = arguments(__doc__, data=False).parse_args()
    seeds = SEEDS[:1] if options.quick else SEEDS
    with running(options) as experiment:
        lines = []
        for data, most in TABLES.items():
            for share in SHARES:
                for seed in seeds:
                    train, test = _rows(data, QUICK_ROWS if experiment.quick else most, seed)
                    made_of = {"train": fingerprint(train), "test": fingerprint(test), "share": share, "seed": seed}
                    make = partial(line, train, test, share, seed)
                    found = experiment.kept(f"label-doctor/{data}", made_of, make)
                    lines.append({"table": data, "share": share, "seed": seed, **found})
                    print(data, share, seed, found["ranking"], flush=True)
        document = {"cleanlab": _cleanlab_version(), "strength": STRENGTH, "lines": lines}
        experiment.write("label-doctor", document, labels_tables)


def _rows(data: str, most: int | None, seed: int) -> tuple[Table, Table]:
    test = some_rows(read_rows(data, "test"), most, 0)
    return apart_from(test, some_rows(read_rows(data, "train"), most, seed)), test


def line(train: Table, test: Table, share: float, seed: int) -> dict[str, Any]:
    """Return the figures of one table, share of wrong labels and seed."""
    noisy = with_wrong_labels(train, share, seed)
    names = LabelSet.from_table(train)
    right, given = names.encode(train), names.encode(noisy)
    texts = train.frame["text"].to_list()
    groups = train.frame["group"].to_numpy() if "group" in train.frame.columns else None
    folds = folds_apart(given, Repeats.of(texts).groups(FOLDS, groups))
    probabilities = held_out_probabilities(rows_of(texts, given, names.names), folds)
    doubts, injected = doubtful(probabilities, given), given != right
    checked, mended, kept = given.copy(), given.copy(), np.ones(len(given), bool)
    checked[doubts.rows], mended[doubts.rows], kept[doubts.rows] = right[doubts.rows], doubts.suggested, False
    versions = {"wrong labels": (texts, given), "doubtful rows checked": (texts, checked)}
    versions["doubtful rows relabelled"] = (texts, mended)
    versions["doubtful rows left out"] = ([text for text, keeps in zip(texts, kept, strict=True) if keeps], given[kept])
    versions["right labels"] = (texts, right)
    expected = names.encode(replace(test, multilabel=False))
    accuracies = {}
    for name, (learned, labels) in versions.items():
        answers = _classifier().fit(learned, labels).predict(test.frame["text"].to_list())
        accuracies[name] = float((answers == expected).mean())
    return {
        "rows": len(texts),
        "test_rows": test.frame.height,
        "injected": int(injected.sum()),
        "ranking": rankings(probabilities, given, injected),
        "listed": {
            "glassformer": _listed(doubts.rows, injected),
            **{f"cleanlab, {name}": _listed(rows, injected) for name, rows in _cleanlab(probabilities, given).items()},
        },
        "suggestion_right": float((doubts.suggested == right[doubts.rows])[injected[doubts.rows]].mean()),
        "estimated_wrong": doubts.estimated_wrong,
        "accuracy": accuracies,
    }


def rankings(probabilities: np.ndarray, labels: np.ndarray, injected: np.ndarray) -> dict[str, dict[str, float]]:
    """Return the precision at k, k being the number of injected labels, and the average precision of three rankings."""
    from cleanlab.rank import get_label_quality_scores as quality

    scores = {
        "self-confidence": quality(labels, probabilities, method="self_confidence"),
        "normalised margin": quality(labels, probabilities, method="normalized_margin"),
        "self-confidence, adjusted": quality(labels, probabilities, method="self_confidence", adjust_pred_probs=True),
    }
    k = int(injected.sum())
    return {
        name: {
            "precision_at_k": float(injected[np.argsort(score, kind="stable")[:k]].mean()),
            "average_precision": float(average_precision_score(injected, -score)),
        }
        for name, score in scores.items()
    }


def _cleanlab(probabilities: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Return the rows that the filters of cleanlab list."""
    from cleanlab.filter import find_label_issues

    return {
        name: find_label_issues(
            labels, probabilities, filter_by=name, return_indices_ranked_by="self_confidence", n_jobs=1
        )
        for name in ("prune_by_noise_rate", "confident_learning", "low_self_confidence")
    }


def _listed(rows: np.ndarray, injected: np.ndarray) -> dict[str, float]:
    hits = int(injected[rows].sum())
    return {"rows": len(rows), "precision": hits / max(1, len(rows)), "recall": hits / int(injected.sum())}


def _classifier() -> Any:
    return make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True),
        LogisticRegression(C=STRENGTH, max_iter=1_000),
    )


def _cleanlab_version() -> str:
    from importlib.metadata import version

    return version("cleanlab")


if __name__ == "__main__":
    main()
