"""The tables of docs/new-words.md, from benchmarks/results/new-words; in `lm-…` language models were measured."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.tables_common import Document, seeds_in_words
from glassformer.evaluation.verdict import signed
from glassformer.experiments.published.table import markdown, short

KINDS = {"bearing": "Words that bear on the label", "random": "Random words"}


def new_words_tables(found: Document) -> Iterator[str]:
    """Of classifiers, or of language models, by what was measured."""
    return _classifier(found) if "results" in found else _language_model(found)


def _classifier(found: Document) -> Iterator[str]:
    for kind, result in found["results"].items():
        learned = sorted(set(result["learned"]))
        span = f"{learned[0]}" if len(learned) == 1 else f"{learned[0]} to {learned[-1]}"
        judged = result["test_texts"]
        held = result.get("of_test_texts", judged)  # older results lack it: none were drawn
        texts = f"{judged:,} test texts" + (f", drawn from {held:,}," if held > judged else "")
        yield (
            f"{KINDS[kind]}: {len(result['hidden'])} hidden, {span} learned; {texts} hold such a word; by "
            f"the first one in each, they belong to {result['test_words']:,} words."
        )
        yield markdown(
            [
                ("read with", "accuracy", "less the unknown token's", "cosine"),
                *(_accuracy_row(name, one) for name, one in result["conditions"].items()),
            ]
        )
    data = found["data"]
    yield (
        f"Data: `{data['name']}`, {data['training_texts']:,} training texts ({data['left_out']:,} more were equal to a "
        f"test text); {seeds_in_words(found['seeds'])}. Means over seeds, with 95% bootstrap intervals over words: a "
        "text belongs to the first hidden word in it."
    )


def _accuracy_row(name: str, one: Document) -> tuple[str, ...]:
    accuracy, above = one["accuracy"], one["above_unknown"]
    span = f"{short(accuracy['value'])} [{short(accuracy['low'])}, {short(accuracy['high'])}]"
    change = f"{signed(above['value'])} [{signed(above['low'])}, {signed(above['high'])}]"
    cosine = signed(one["cosine"]["value"]) if "cosine" in one else "–"
    return name, span, "–" if name == "unknown token" else change, cosine


def _language_model(found: Document) -> Iterator[str]:
    yield markdown(
        [
            ("read with", "loss after", "less the unknown token's", "elsewhere, 10⁻⁶", "all together, %", "gain"),
            *(_loss_row(name, one) for name, one in found["conditions"].items()),
        ]
    )
    data, counts = found["data"], found["sentences"]
    yield (
        f"A known word of the rarer half of the vocabulary: {found['rare_words'] * 1e6:.1f} elsewhere (median). "
        f"Data: `{data['name']}`, {data['training_sentences']:,} training sentences, {data['left_out']:,} more left "
        f"out; {len(found['learned'])} of {len(found['hidden'])} hidden words learned, {counts['with_a_word']:,} test "
        f"sentences with one, {counts['elsewhere']:,} with none; {found['recipe']['training']['max_steps']:,} steps, "
        f"seed {found['seed']}. 95% bootstrap intervals over words, of all together over sentences."
    )


def _loss_row(name: str, one: Document) -> tuple[str, ...]:
    columns = ("after", ".3f", 1), ("after_above_unknown", "+.3f", 1), ("elsewhere", ".1f", 1e6), ("share", ".2f", 100)
    return name, *(_interval(one.get(key), form, scale) for key, form, scale in (*columns, ("gain", "+.2f", 1)))


def _interval(one: Document | None, form: str, scale: float) -> str:
    if one is None:
        return "–"
    value, low, high = (format(one[key] * scale, form).replace("-", "−") for key in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"
