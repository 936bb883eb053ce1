"""How often the answer to a text changes when the text is changed a little."""

import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Int

from glassformer.data.arrays import Array
from glassformer.data.inputs import shown, texts_alone, with_texts_changed
from glassformer.data.wording import counted
from glassformer.evaluation.baselines import marks_of_letters
from glassformer.evaluation.measured import Answer, MeasuredRows
from glassformer.evaluation.weak_spots import Robustness
from glassformer.prediction.answering_config import TRANSFORMER
from glassformer.prediction.predictor import Predictor

_SENTENCE = r""".,;:!?…'"“”„‘’‚«»‹›()[]–—-¡¿·，。、；：！？「」『』（）《》〈〉【】؟،؛۔।॥።፣"""
_IN_WORDS = "'’.,:-·"  # don't, 3.14, well-known, 10:30
_LINK = r"https?://\S+"
_KEPT = rf"{_LINK}|[:;=][-'^]?[()\[\]DPp/|](?!\w)"  # links, and smileys, which often decide the label
_RUN = rf"(?:(?!{_KEPT})[{re.escape(_SENTENCE)}])+"
_PUNCTUATION = re.compile(rf"(?P<kept>{_KEPT})|(?P<gap>\s?)(?P<run>{_RUN})")

_PRONOUN = r"(?:it|that|this|there|he|she)\s?['’]s|(?:they|you|we)\s?['’]re|i\s?['’]m"
_NEGATION = re.compile(
    rf"""
    \b(?:
        (?P<irregular>ca|wo)\s?n['’]t
      | (?P<cannot>can)not
      | (?P<verb>is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|must|{_PRONOUN})
        (?:\s?n['’]t|\s+not(?!\s+(?:only|just)\b))
      | (?:(?P<open>{_PRONOUN})
          | (?<=[^\W_]\s)(?<!\b(?:who|how|why)\s)(?<!\b(?:what|when)\s)(?<!\bwhere\s)  # no questions
            (?P<closed>is|are|was|were|can|could|will|would|should))
        (?=\s+\w)(?!\s+(?:it|he|she|they|you|we|i|there|no|not|never|nothing|nobody|none|neither|hardly)\b)
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_WITHOUT_NOT = {"ca": "can", "wo": "will"}
# "is" and "was" are words of Dutch and German too.
_ENGLISH = re.compile(r"\b(?:the|this|that|they|you|it|with|and)\b", re.IGNORECASE)


def with_typos(text: str, share: float, rng: np.random.Generator) -> str:
    """Put a typo into a share of the words: two neighbouring letters change places, or a letter is lost or doubled.

    A word is a run of at least three letters. In languages without spaces, this is a whole phrase. A letter keeps its
    marks, such as the vowel signs of Hindi. Links stay as they are.
    """

    def typo(found: re.Match[str]) -> str:
        if not found["word"] or rng.random() >= share:
            return found[0]
        letters = letter.findall(found[0])
        place = int(rng.integers(len(letters) - 1))
        one, next_one = letters[place : place + 2]
        typed = (next_one + one, next_one, one + one + next_one)[int(rng.integers(3))]
        return "".join([*letters[:place], typed, *letters[place + 2 :]])

    letter, word = _letter_and_word()
    return word.sub(typo, text)


@cache
def _letter_and_word() -> tuple[re.Pattern[str], re.Pattern[str]]:
    letter = rf"[^\W\d_][{marks_of_letters()}]*"
    return re.compile(letter), re.compile(rf"{_LINK}|(?P<word>(?:{letter}){{3,}})")


def without_punctuation(text: str) -> str:
    """Drop the punctuation of sentences, in any script. Keep it inside words (don't, 3.14), in links and in smileys."""

    def dropped(found: re.Match[str]) -> str:
        if found["kept"]:
            return found[0]
        start, end, run = found.start(), found.end(), found["run"]
        before, after = text[max(start - 1, 0) : start], text[end : end + 1]
        if not found["gap"] and _of_word(before) and _of_word(after):
            return run if len(run) == 1 and run in _IN_WORDS else " "
        return "" if not after or after.isspace() else found["gap"]

    return _PUNCTUATION.sub(dropped, text)


def _of_word(char: str) -> bool:
    return char != "" and unicodedata.category(char)[0] in "LMN"


def negated(text: str) -> str:
    """Remove the first negation of an English text, or insert one: "is" becomes "is not", "isn't" becomes "is".

    What comes first decides. A text without common English words, or without such a verb, stays as it is.
    """
    return _NEGATION.sub(_turned, text, count=1) if _ENGLISH.search(text) else text


def _turned(found: re.Match[str]) -> str:
    if found["irregular"]:
        verb = _WITHOUT_NOT[found["irregular"].lower()]
        return verb.upper() if found[0].isupper() else verb.capitalize() if found[0][0].isupper() else verb
    if without := found["cannot"] or found["verb"]:
        return without
    return f"{found[0]} {'NOT' if found[0].isupper() else 'not'}"


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
    return config.target.values(weighed)[[numbers[key] for key in read]]


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
