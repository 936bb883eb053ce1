"""How often the answer to a text changes when the text is changed a little."""

import unicodedata
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from glassformer.data.table import Table
from glassformer.data.wording import counted
from glassformer.evaluation.intervals import RESAMPLES, share_right
from glassformer.evaluation.metrics import correct_rows
from glassformer.evaluation.result import ChangedAnswer, Robustness, TextChange
from glassformer.evaluation.text_changes import negated, with_typos, without_punctuation
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.probabilities import THRESHOLD, probabilities

MOST_ROWS, MOST_CHARACTERS = 500, 150_000  # answering them takes about a quarter of an evaluation on 1,000 rows
TYPOS = 0.05  # of the words
NEGATION = "negation"
LEAST_NEGATED = 20  # texts
EXAMPLES = 2
SEED = 0  # the same for each model, so that all models read the same changes

Answer = Callable[[list[str]], Float[np.ndarray, "n n_classes"]]


def measure_robustness(
    predictor: Predictor,
    table: Table,
    *,
    say: Callable[[str], None],
    on_progress: Callable[[float], None] | None,
) -> Robustness:
    """Change some texts of a labelled table, and let the model answer them.

    Raises:
        UsageError: the table holds a label that the model does not know.
    """
    config = predictor.trained.config

    def answer(texts: list[str]) -> Float[np.ndarray, "n n_classes"]:
        say(f"answering {counted(len(texts), 'text')} with and without small changes")
        return _answers(predictor, texts, on_progress)

    return robustness(
        answer,
        texts=table.frame["text"].to_list(),
        labels=config.label_set.encode(table),
        rows=table.frame["row"].to_list(),
        class_names=config.label_set.names,
        multilabel=config.multilabel,
    )


def _answers(
    predictor: Predictor, texts: list[str], on_progress: Callable[[float], None] | None
) -> Float[np.ndarray, "n n_classes"]:
    """Return probabilities. Texts that both readers read alike, often those that differ in case, are answered once."""
    trained, config = predictor.trained, predictor.trained.config
    tokens = [] if config.answers_by_counting else trained.tokenizer.encode(texts)
    for_transformer = [row.tobytes() for row in tokens] or [b""] * len(texts)
    for_counting = [unicodedata.normalize("NFKC", text).lower() for text in texts]
    read = list(zip(for_counting, for_transformer, strict=True))
    asked = dict(zip(read, texts, strict=True))
    numbers = {key: number for number, key in enumerate(asked)}
    logits = np.sum(list(predictor.reader_logits(list(asked.values()), on_progress=on_progress).values()), axis=0)
    probs = probabilities(logits, temperature=config.temperature, multilabel=config.multilabel)
    return probs[[numbers[key] for key in read]]


def robustness(
    answer: Answer,
    *,
    texts: Sequence[str],
    labels: Shaped[np.ndarray, "n ..."],
    rows: Sequence[int],
    class_names: Sequence[str],
    multilabel: bool,
    resamples: int = RESAMPLES,
) -> Robustness:
    """Measure how often answers change with the texts. The same texts always get the same changes.

    Args:
        answer: returns the probabilities (texts, n_classes) of texts.
        labels: class numbers (n,), or multi-hot (n, n_classes) with `multilabel`.
        rows: the row number of each text in its file; it is shown with the examples.
    """
    drawn = _drawn(texts)
    own = [texts[i] for i in drawn]
    changed = _changed(own)
    if not changed:
        return Robustness(rows=len(own), changes=())
    probs = answer([*own, *(text for found in changed.values() for text in found.values())])
    given = probs >= THRESHOLD if multilabel else probs.argmax(axis=1)[:, None] == np.arange(len(class_names))

    sizes = np.cumsum([len(own), *map(len, changed.values())])
    changes = []
    for (name, found), first, end in zip(changed.items(), sizes[:-1], sizes[1:], strict=True):
        places, after = np.fromiter(found, dtype=np.int64), np.arange(first, end)
        truth = labels[drawn[places]]
        differs = (given[places] != given[after]).any(axis=1)
        right, still_right = (correct_rows(probs[each], truth, multilabel=multilabel) for each in (places, after))
        shortest = sorted(np.flatnonzero(differs).tolist(), key=lambda i: len(own[places[i]]))[:EXAMPLES]
        changes.append(
            TextChange(
                name=name,
                rows=len(found),
                answers_changed=share_right(differs, seed=SEED, resamples=resamples),
                accuracy_before=float(right.mean()),
                accuracy_after=None if name == NEGATION else float(still_right.mean()),
                examples=tuple(
                    ChangedAnswer(
                        row=int(rows[int(drawn[places[i]])]),
                        before=own[places[i]],
                        after=found[int(places[i])],
                        answer_before=_names(given[places[i]], class_names),
                        answer_after=_names(given[after[i]], class_names),
                    )
                    for i in shortest
                ),
            )
        )
    return Robustness(rows=len(own), changes=tuple(changes))


def _names(given: Bool[np.ndarray, " n_classes"], class_names: Sequence[str]) -> tuple[str, ...]:
    return tuple(class_names[int(c)] for c in np.flatnonzero(given))


def _drawn(texts: Sequence[str]) -> Int[np.ndarray, " drawn"]:
    """Draw rows at random, at least one, and return them in their order."""
    order = np.random.default_rng(SEED).permutation(len(texts))[:MOST_ROWS]
    characters = np.cumsum([len(texts[i]) for i in order])
    return np.sort(order[: max(1, int((characters <= MOST_CHARACTERS).sum()))])


def _changed(texts: Sequence[str]) -> dict[str, dict[int, str]]:
    """Return the texts that each change alters, by their place. An empty text is no change: it has no answer."""
    rng = np.random.default_rng(SEED)
    changes: dict[str, Callable[[str], str]] = {
        "typos": lambda text: with_typos(text, TYPOS, rng),
        "upper case": str.upper,
        "lower case": str.lower,
        "no punctuation": without_punctuation,
        NEGATION: negated,
    }
    changed = {
        name: {place: new for place, text in enumerate(texts) if (new := change(text)) != text and new.strip()}
        for name, change in changes.items()
    }
    if len(changed[NEGATION]) < LEAST_NEGATED:
        del changed[NEGATION]
    return {name: found for name, found in changed.items() if found}
