"""The tables of docs/log.md on uneven classes and on a class `other`, from uneven.json and other-class.json."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document, interval, seeds_in_words, with_spread
from glassformer.experiments.published.table import markdown


def uneven_tables(found: Document) -> Iterator[str]:
    """Yield accuracy and macro F1 for each way to train, and what they gain over cross entropy."""
    figures = ("accuracy", "macro_f1", "accuracy_gain", "macro_f1_gain")
    plain = found["tables"][0]["lines"][0]["way"]
    lines = [
        (
            f"`{table['data']}`, {line['readers']}",
            line["way"],
            *("" if line["way"] == plain and "gain" in figure else interval(line[figure]) for figure in figures),
        )
        for table in found["tables"]
        for line in table["lines"]
    ]
    yield markdown([("table", "learned with", "accuracy", "macro F1", "accuracy gained", "macro F1 gained"), *lines])
    rows = []
    for table in found["tables"]:
        share, rarest = min((share, name) for name, share in table["shares"].items())
        asked, models = table["transformer_asked"], len(table["transformer_asked"]) * len(found["seeds"])
        rows.append(
            f"`{table['data']}`: {table['rows']:,} rows learned, {table['held_out_rows']:,} held out, {share:.0%} of "
            f"them {rarest}; the transformer answers in {sum(asked.values())} of {models} models."
        )
    yield f"Means over {seeds_in_words(found['seeds'])} with 95% intervals over the held-out rows. {' '.join(rows)}"


def other_tables(found: Document) -> Iterator[str]:
    """Yield the accuracy for known intents, and how well each score tells unseen ones."""

    def shown(model: str, score: str) -> tuple[str, str]:
        models = [run["models"][model] for run in found["runs"]]
        return (
            with_spread([each["auroc"][score] for each in models]),
            with_spread([each["accuracy"] for each in models]),
        )

    intents, others = found["intents"], found["runs"][0]["models"]
    of_intents = f"`other` of {intents['other']} intents"
    of_elsewhere = f"`other` of {others['elsewhere']['rows_of_other']:,} texts of {' and '.join(found['elsewhere'])}"
    lines = [
        ("plain", "1 − confidence", *shown("plain", "confidence")),
        ("plain", "share of unseen words and pairs", *shown("plain", "unseen_words")),
        (of_intents, "probability of `other`", *shown("intents", "other")),
        (of_intents, "1 − confidence of a known intent", *shown("intents", "confidence")),
        (of_elsewhere, "probability of `other`", *shown("elsewhere", "other")),
        (of_elsewhere, "1 − confidence of a known intent", *shown("elsewhere", "confidence")),
    ]
    yield markdown([("model", "score", "AUROC", "accuracy"), *lines])
    asked = found["runs"][0]["asked"]
    yield (
        f"`{found['data']}`, means and standard deviations over {seeds_in_words(found['seeds'])}: AUROC of "
        f"{asked['unseen']:,} rows of {intents['unseen']} unseen intents against {asked['known']:,} of "
        f"{intents['known']} known ones, accuracy on the known ones."
    )
