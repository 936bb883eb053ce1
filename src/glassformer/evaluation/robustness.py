"""How often the answer to a text changes when the text is changed a little."""

import unicodedata
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from glassformer.data.inputs import shown, texts_alone, with_texts_changed
from glassformer.data.table import Table
from glassformer.data.wording import counted
from glassformer.evaluation.intervals import RESAMPLES, bootstrap_mean, share_right
from glassformer.evaluation.metrics import correct_rows
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.text_changes import negated, with_typos, without_punctuation
from glassformer.evaluation.weak_spots import ChangedAnswer, Robustness, TextChange
from glassformer.prediction.predictor import Predictor
from glassformer.targets.probabilities import THRESHOLD, probabilities

MOST_ROWS, MOST_CHARACTERS = 500, 150_000  # answering them takes about a quarter of an evaluation on 1,000 rows
TYPOS = 0.05  # of the words
TYPO_DRAWS = 3  # for each text
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
    tokens = [] if config.transformer_is_silent else trained.tokenizer.encode(texts)
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
    probs = answer([*own, *(text for found in changed.values() for _, text in found)])
    given = probs >= THRESHOLD if multilabel else probs.argmax(axis=1)[:, None] == np.arange(len(class_names))

    sizes = np.cumsum([len(own), *map(len, changed.values())])
    changes = []
    for (name, found), first, end in zip(changed.items(), sizes[:-1], sizes[1:], strict=True):
        places, after = np.array([place for place, _ in found]), np.arange(first, end)
        truth = labels[drawn[places]]
        differs = (given[places] != given[after]).any(axis=1)
        right, still_right = (correct_rows(probs[each], truth, multilabel=multilabel) for each in (places, after))
        examples = _shortest(own, places, differs)
        changes.append(
            TextChange(
                name=name,
                rows=len(np.unique(places)),
                draws=TYPO_DRAWS if name == "typos" else 1,
                answers_changed=_mean_share(_by_text(places, differs), resamples),
                accuracy_before=float(_by_text(places, right).mean()),
                accuracy_after=None if name == NEGATION else float(_by_text(places, still_right).mean()),
                examples=tuple(
                    ChangedAnswer(
                        row=int(rows[int(drawn[places[i]])]),
                        before=shown(own[places[i]]),
                        after=shown(found[i][1]),
                        answer_before=_names(given[places[i]], class_names),
                        answer_after=_names(given[after[i]], class_names),
                    )
                    for i in examples
                ),
            )
        )
    return Robustness(rows=len(own), changes=tuple(changes))


def _by_text(places: Int[np.ndarray, " m"], values: Bool[np.ndarray, " m"]) -> Float[np.ndarray, " texts"]:
    """Return for each text the mean over its changes."""
    _, of_text = np.unique(places, return_inverse=True)
    means: Float[np.ndarray, " texts"] = np.bincount(of_text, values) / np.bincount(of_text)
    return means


def _mean_share(shares: Float[np.ndarray, " texts"], resamples: int) -> Estimate:
    """Return the mean over texts. If it is 0 or 1, its interval is that of `share_right`."""
    if 0 < shares.mean() < 1:
        return bootstrap_mean(shares, seed=SEED, resamples=resamples)
    return share_right(shares > 0, seed=SEED, resamples=resamples)


def _shortest(texts: Sequence[str], places: Int[np.ndarray, " m"], differs: Bool[np.ndarray, " m"]) -> list[int]:
    """Return the first change that turned the answer, for each of the shortest such texts."""
    first = {int(places[i]): int(i) for i in np.flatnonzero(differs)[::-1]}
    return [first[place] for place in sorted(first, key=lambda place: (len(texts[place]), place))[:EXAMPLES]]


def _names(given: Bool[np.ndarray, " n_classes"], class_names: Sequence[str]) -> tuple[str, ...]:
    return tuple(class_names[int(c)] for c in np.flatnonzero(given))


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
