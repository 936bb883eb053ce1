"""The tables on new words, from benchmarks/results/new-words. Files named `lm-…` are of language models."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks.tables_common import Document, interval, seeds_in_words, span
from glassformer.evaluation.verdict import signed
from glassformer.experiments.published.table import markdown

KINDS = {"bearing": "Words that bear on the label", "random": "Random words"}
SHOWN = "bearing"
"""The kind of words that is shown. The result also has random words, which change little."""
LOSS_COLUMNS: dict[str, tuple[str, Callable[[float], str]]] = {
    "loss after": ("after", "{:.3f}".format),
    "minus the unknown token's": ("after_above_unknown", "{:+.3f}".format),
    "elsewhere, 10⁻⁶": ("elsewhere", lambda share: f"{share * 1e6:.1f}"),
    "all together, %": ("share", lambda share: f"{share * 100:.2f}"),
    "gain": ("gain", "{:+.2f}".format),
}


def new_words_tables(found: Document) -> Iterator[str]:
    return _classifier(found) if "results" in found else _language_model(found)


def _classifier(found: Document) -> Iterator[str]:
    for kind, result in found["results"].items():
        if kind != SHOWN:
            continue
        count = result["test_texts"]
        of_texts = result.get("of_test_texts", count)  # older results lack it, because no texts were drawn
        texts = f"{count:,} test texts" + (f", drawn from {of_texts:,}," if of_texts > count else "")
        yield (
            f"{KINDS[kind]}: {result['hidden']} hidden, {span(result['learned'])} learned; {texts} contain such a "
            f"word. The first one in each text gives {result['test_words']:,} different words."
        )
        headings = ("read with", "accuracy", "minus the unknown token's", "cosine")
        yield markdown([headings, *(_accuracy_row(name, figures) for name, figures in result["conditions"].items())])
    data = found["data"]
    yield (
        f"Data: `{data['name']}`, {data['training_texts']:,} training texts ({data['left_out']:,} others equal a "
        f"test text and were left out); {seeds_in_words(found['seeds'])}. Means over seeds, with 95% bootstrap "
        "intervals over words. A text belongs to the first hidden word in it."
    )


def _accuracy_row(name: str, figures: Document) -> tuple[str, ...]:
    change = "–" if name == "unknown token" else interval(figures["above_unknown"], signed)
    cosine = signed(figures["cosine"]["value"]) if "cosine" in figures else "–"
    return name, interval(figures["accuracy"]), change, cosine


def _language_model(found: Document) -> Iterator[str]:
    yield markdown([("read with", *LOSS_COLUMNS), *(_loss_row(*row) for row in found["conditions"].items())])
    data, counts = found["data"], found["sentences"]
    yield (
        f"For comparison, the known words of the rarer half: {found['rare_words'] * 1e6:.1f} elsewhere (median). "
        f"Data: `{data['name']}`, {data['training_sentences']:,} training sentences, {data['left_out']:,} others left "
        f"out; {found['learned']} of {found['hidden']} hidden words learned, {counts['with_a_word']:,} test "
        f"sentences with one, {counts['elsewhere']:,} with none; {found['steps']:,} steps, "
        f"seed {found['seed']}. 95% bootstrap intervals over words; for all together, over sentences."
    )


def _loss_row(name: str, figures: Document) -> tuple[str, ...]:
    cells = (interval(figures[key], form) if key in figures else "–" for key, form in LOSS_COLUMNS.values())
    return name, *(cell.replace("-", "−") for cell in cells)
