"""Small changes of a text: typos and lost punctuation, which should not matter, and a negation, which may."""

import re
import unicodedata
from functools import cache

import numpy as np

from glassformer.evaluation.baselines import marks_of_letters

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
