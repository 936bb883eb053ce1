"""Do the thresholds of held-out rows keep what they promise on test rows?

    python -m benchmarks.automatic
    python -m benchmarks.automatic --quick

A model of the preset `tiny` is trained on each table with each seed. The thresholds come from held-out training rows,
and the test rows only show what they do. Finished models are kept in the work folder, so a stopped benchmark goes on
where it was.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.bench_data import Cut, Entry, cut_rows, entries_named
from benchmarks.experiment import Experiment, arguments, running
from benchmarks.models import classifier
from benchmarks.paired import over_rows
from benchmarks.tables_automatic import automatic_tables
from glassformer.data.splits import fingerprint
from glassformer.evaluation.review import ASKED, ASKED_OF_SETS, surest
from glassformer.prediction.predictor import Predictor
from glassformer.training.recipe import load_recipe

PRESET, SEEDS = "tiny", (0, 1, 2)
TABLES = ("disaster-tweets", "trec", "imdb-3k", "customer-reviews", "vietnamese-feedback", "clinc150-3k")


def main() -> None:
    """Run the benchmark that the command line asks for."""
    parser = arguments(__doc__, data=False)
    parser.add_argument("--only", nargs="+", metavar="TABLE", help=f"of {', '.join(TABLES)}")
    options = parser.parse_args()
    with running(options) as experiment:
        lines = [line(experiment, entry) for entry in entries_named(options.only or TABLES)]
        found = {"preset": PRESET, "seeds": SEEDS, "lines": lines}
        experiment.write("automatic", found, automatic_tables)


def line(experiment: Experiment, entry: Entry) -> dict[str, Any]:
    """Return the figures of a table. All seeds answer the same test rows; intervals are over these rows."""
    runs = []
    for seed in SEEDS:
        cut = cut_rows(entry, seed, test=True, quick=experiment.quick)
        runs.append(run(experiment, entry, cut, seed))
    shares = []
    for number, asked in enumerate(ASKED):
        of_seeds = [each["shares"][number] for each in runs]
        shares.append(
            {
                "asked": asked,
                "error_of_surest": float(np.mean([each["error_of_surest"] for each in of_seeds])),
                "held_out_error": float(np.mean([each["held_out_error"] for each in of_seeds])),
                "coverage": over_rows([each["automatic"] for each in of_seeds]),
                "error": float(np.mean([each["error"] for each in of_seeds])),
            }
        )
    sets = []
    for number, asked in enumerate(ASKED_OF_SETS):
        of_seeds = [each["sets"][number] for each in runs]
        sets.append(
            {
                "asked": asked,
                "coverage": over_rows([each["covered"] for each in of_seeds]),
                **{key: float(np.mean([each[key] for each in of_seeds])) for key in ("mean_size", "empty", "one")},
                "of_seeds": [float(each["covered"].mean()) for each in of_seeds],
            }
        )
    return {
        "table": entry.name,
        "training_rows": [each["training_rows"] for each in runs],
        "held_out_rows": [each["held_out_rows"] for each in runs],
        "test_rows": runs[0]["test_rows"],
        "test_sha256": runs[0]["test_sha256"],
        "classes": runs[0]["classes"],
        "cross_fitted": runs[0]["cross_fitted"],
        "shares": shares,
        "sets": sets,
    }


def run(experiment: Experiment, entry: Entry, cut: Cut, seed: int) -> dict[str, Any]:
    """Train with a seed, or read the kept model, and return what its thresholds do on the test rows."""
    recipe = load_recipe(None, preset=PRESET, overrides={"training.seed": seed})
    folder = classifier(experiment, f"automatic/{entry.name}-{seed}", recipe, cut.train, cut.held_out)
    predictor = Predictor.load(folder)
    thresholds, config = predictor.thresholds, predictor.trained.config
    labels = config.label_set.encode(cut.held_out)
    answers = predictor.answer(cut.held_out.frame["text"].to_list())
    wrong, confidence = answers.probs.argmax(axis=1) != labels, answers.confidences
    shares = []
    for asked in ASKED:
        rule = thresholds.rule(asked)
        automatic = confidence >= (rule.below if asked < 1 else 0)
        assert rule.wrong is not None
        shares.append(
            {
                "error_of_surest": float(wrong[surest(confidence, asked)].mean()),
                "held_out_error": rule.wrong / rule.automatic,
                "automatic": automatic,
                "error": float(wrong[automatic].mean()),
            }
        )
    sets = []
    for asked in ASKED_OF_SETS:
        held = answers.probs >= thresholds.label_threshold(asked)
        sizes = held.sum(axis=1)
        figures = {"mean_size": sizes.mean(), "empty": (sizes == 0).mean(), "one": (sizes == 1).mean()}
        sets.append({"covered": held[np.arange(len(labels)), labels], **figures})
    return {
        "training_rows": config.data["rows"] + config.data["validation_rows"],
        "held_out_rows": thresholds.rows[-1],
        "cross_fitted": config.data["validation_rows"] == 0,
        "test_rows": len(labels),
        "test_sha256": fingerprint(cut.held_out),
        "classes": config.n_classes,
        "shares": shares,
        "sets": sets,
    }


if __name__ == "__main__":
    main()
