"""How often the answer to a text changes when the text is changed a little."""

import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Int

from glassformer.data.arrays import Array
from glassformer.data.inputs import shown, texts_alone, with_texts_changed
from glassformer.data.wording import counted
from glassformer.evaluation.measured import Answer, MeasuredRows
from glassformer.evaluation.text_changes import negated, with_typos, without_punctuation
from glassformer.evaluation.weak_spots import Robustness
from glassformer.prediction.answering_config import TRANSFORMER
from glassformer.prediction.predictor import Predictor

MOST_ROWS, MOST_CHARACTERS = 500, 150_000  # answering them takes about a quarter of an evaluation on 1,000 rows
TYPOS = 0.05  # of the words
TYPO_DRAWS = 3  # for each text
NEGATION = "negation"
LEAST_NEGATED = 20  # texts
EXAMPLES = 2
SEED = 0  # the same for each model, so that all models read the same changes


def measure_robustness(
    predictor: Predictor,
    rows: MeasuredRows,
    *,
    say: Callable[[str], None],
    on_progress: Callable[[float], None] | None,
) -> Robustness[Any]:
    """Change some texts of a labelled table, and let the model answer them."""

    def answer(texts: list[str]) -> Array:
        say(f"answering {counted(len(texts), 'text')} with and without small changes")
        return answers_of(predictor, texts, on_progress)

    return robustness(answer, rows)


def answers_of(predictor: Predictor, texts: list[str], on_progress: Callable[[float], None] | None = None) -> Array:
    """Return the answers. Texts that all readers read alike, often those that differ in case, are answered once."""
    trained, config = predictor.trained, predictor.trained.config
    tokens = [] if config.transformer_is_silent else trained.tokenizer.encode(texts)
    for_transformer = [row.tobytes() for row in tokens] or [b""] * len(texts)
    by_words = {*config.asked} <= {"counting", "body", TRANSFORMER}  # others may read case
    for_words = [unicodedata.normalize("NFKC", text).lower() if by_words else text for text in texts]
    read = list(zip(for_words, for_transformer, strict=True))
    asked = dict(zip(read, texts, strict=True))
    numbers = {key: number for number, key in enumerate(asked)}
    weighed = predictor.reader_logits(list(asked.values()), on_progress=on_progress)
    found: Array = config.target.part("evaluation").answers_of(config.target, weighed)
    return found[[numbers[key] for key in read]]


def robustness(answer: Answer, rows: MeasuredRows) -> Robustness[Any]:
    """Measure how answers change with the texts. The same texts always get the same changes."""
    drawn = _drawn(rows.texts)
    own = [rows.texts[i] for i in drawn]
    changed = _changed(own)
    if not changed:
        return rows.changes(rows=len(own), changes=())
    answers = answer([*own, *(text for found in changed.values() for _, text in found)])
    sizes = np.cumsum([len(own), *map(len, changed.values())])
    changes: list[dict[str, Any]] = []
    for (name, found), first, end in zip(changed.items(), sizes[:-1], sizes[1:], strict=True):
        places, lengths = np.array([place for place, _ in found]), [len(own[place]) for place, _ in found]
        figures, examples = rows.change(drawn[places], answers[places], answers[first:end], lengths)
        changes.append(
            figures
            | ({key: None for key in figures if key.endswith("_after")} if name == NEGATION else {})
            | {
                "name": name,
                "rows": len(np.unique(places)),
                "draws": TYPO_DRAWS if name == "typos" else 1,
                "examples": [
                    {
                        "row": int(rows.rows[int(drawn[places[i]])]),
                        "before": shown(own[places[i]]),
                        "after": shown(found[i][1]),
                        "answer_before": before,
                        "answer_after": after,
                    }
                    for i, before, after in examples
                ],
            }
        )
    return rows.changes(rows=len(own), changes=tuple(changes))


def _drawn(texts: Sequence[str]) -> Int[np.ndarray, " drawn"]:
    """Draw rows at random, at least one, and return them in their order."""
    order = np.random.default_rng(SEED).permutation(len(texts))[:MOST_ROWS]
    characters = np.cumsum([len(texts[i]) for i in order])
    return np.sort(order[: max(1, int((characters <= MOST_CHARACTERS).sum()))])


def _changed(texts: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
    """Return the place of each text that a change alters, and the new text. Typos are drawn several times for each.

    An empty text is no change: it has no answer.
    """
    rng = np.random.default_rng(SEED)
    changes: dict[str, Callable[[str], str]] = {
        "typos": lambda text: with_typos(text, TYPOS, rng),
        "upper case": str.upper,
        "lower case": str.lower,
        "no punctuation": without_punctuation,
        NEGATION: negated,
    }
    changed = {
        name: [
            (place, new)
            for place, text in enumerate(texts)
            for _ in range(TYPO_DRAWS if name == "typos" else 1)
            if (new := with_texts_changed(text, change)) != text and texts_alone(new).strip()
        ]
        for name, change in changes.items()
    }
    if len(changed[NEGATION]) < LEAST_NEGATED:
        del changed[NEGATION]
    return {name: found for name, found in changed.items() if found}
