"""The embedded data set `polarity`: short English opinions in which word order decides.

They are **generated** by the small grammar below. No person wrote them, and no result on them says anything about real
text. They show one thing: what a model that reads words in their order can do and a bag of words cannot. "The acting is
dull, but the story is superb" is a favourable opinion. With the two adjectives exchanged it is unfavourable. Every word
occurs nearly as often in favourable opinions as in unfavourable ones. Neighbouring pairs of words tell little either:
an adverb stands between a negation and the word that it negates, and an aside follows.

The test sentences pair words (two judgements, or one judgement and its subject, see `_sentence`) that are never paired
in training. Every single word does occur in training.
"""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import polars as pl

from glassformer.data.table import Table

Option = TypeVar("Option")

N_ROWS = {"train": 4_000, "test": 1_000}
SEEDS = {"train": 1, "test": 2}
ONE_IN = 5  # one combination of words in five is kept for the test

PRAISE = """good great superb charming funny moving clever fresh warm gripping elegant lovely witty brilliant
    delightful touching wonderful thoughtful""".split()  # noqa: SIM905
BLAME = """bad dull boring weak clumsy flat stale tedious awkward silly sad shallow bland dreadful annoying lifeless
    awful tiresome""".split()  # noqa: SIM905
PRAISED_AS = "masterpiece triumph gem treat".split()  # noqa: SIM905
BLAMED_AS = "disaster failure mess flop".split()  # noqa: SIM905
SUBJECTS = """acting story script plot music ending dialogue direction cast opening pacing humour editing premise
    soundtrack finale narration staging photography choreography""".split()  # noqa: SIM905
ADVERBS = "really truly very genuinely remarkably particularly".split()  # noqa: SIM905
DEGREES = "real true complete".split()  # noqa: SIM905
QUESTION = "how is the {s}?"
"""A question about a subject. Opinions that name the subject first are its answers."""
ASIDES = ("to be honest", "i must say", "for the most part", "all in all", "as a whole", "in my view", "if you ask me")


@dataclass(frozen=True, kw_only=True)
class Template:
    """A sentence with one judgement `{x}`, or with two, `{x}` and `{y}`, about the subjects `{s}` and `{t}`.

    The judgement that `decides` gives the opinion of the sentence. If it is `denied`, the opinion is the opposite. Two
    judgements either `agree` or contradict each other.
    """

    words: str
    decides: Literal["x", "y"] = "x"
    denied: bool = False
    agree: bool = False


TEMPLATES = (
    # one judgement: stated, denied, denied twice
    Template(words="the {s} is {x}"),
    Template(words="i find the {s} {x}"),
    Template(words="the {s} seems {x}"),
    Template(words="the {s} was {x}"),
    Template(words="we all found the {s} {x}"),
    Template(words="i call the {s} {x}"),
    Template(words="the {s} is nothing but {x}"),
    Template(words="it is not true that the {s} is not {x}"),
    Template(words="nobody could say that the {s} is not {x}"),
    Template(words="nobody could say that the {s} is {x}", denied=True),
    Template(words="the {s} is not {x}", denied=True),
    Template(words="the {s} is hardly {x}", denied=True),
    Template(words="the {s} is anything but {x}", denied=True),
    Template(words="the {s} is far from being {x}", denied=True),
    Template(words="it is not at all the case that the {s} is {x}", denied=True),
    # two that agree
    Template(words="the {s} is {x}, and the {t} is {y}", agree=True),
    Template(words="the {s} is {x}, more than that, it is {y}", agree=True),
    Template(words="the {s} is {x}, and on top of that {y}", agree=True),
    Template(words="the {s} is not only {x}, but also {y}", agree=True),
    Template(words="the {s} is neither {x}, nor {y}", agree=True, denied=True),
    Template(words="neither is the {s} {x}, nor is the {t} {y}", agree=True, denied=True),
    # two opposites: the first decides
    Template(words="the {s} is {x}, not {y}"),
    Template(words="the {s} is {x}, and not in the least {y}"),
    Template(words="the {s} is {x}, although the {t} is {y}"),
    Template(words="the {s} is {x}, instead of being {y}"),
    Template(words="i call the {s} {x}, others call it {y}"),
    Template(words="in the end the {s} is {x}, at first it seems {y}"),
    # two opposites: the second decides
    Template(words="the {s} is not {x}, it is {y}", decides="y"),
    Template(words="the {s} is {x}, but the {t} is {y}", decides="y"),
    Template(words="although the {s} is {x}, the {t} is {y}", decides="y"),
    Template(words="instead of being {x}, the {s} is {y}", decides="y"),
    Template(words="others call the {s} {x}, i call it {y}", decides="y"),
    Template(words="at first the {s} seems {x}, in the end it is {y}", decides="y"),
)

FAVOURABLE = PRAISE + PRAISED_AS
UNFAVOURABLE = BLAME + BLAMED_AS
NUMBER = {word: number for number, word in enumerate(FAVOURABLE + UNFAVOURABLE + SUBJECTS)}


def generate(split: Literal["train", "test"]) -> Table:
    """Generate the 4,000 training or 1,000 test sentences, half "positive", half "negative", always the same ones."""
    rng = random.Random(SEEDS[split])
    labels: dict[str, str] = {}
    while len(labels) < N_ROWS[split]:
        positive = len(labels) % 2 == 0
        sentence = _sentence(rng, positive=positive, held_out=split == "test")
        labels.setdefault(sentence, "positive" if positive else "negative")
    frame = pl.DataFrame({"text": list(labels), "label": list(labels.values())}).with_row_index("row", offset=1)
    return Table(
        frame=frame,
        source="polarity",
        text_column="text",
        label_column="label",
        notes=("polarity is generated by a small grammar; it is not real text",),
    )


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """What a sentence of the grammar says: its subject, which it names first, and whether it praises it."""

    subject: str
    favourable: bool


def read_opinion(sentence: str) -> Opinion | None:
    """Return what a sentence says, or None if the grammar cannot generate it."""
    for template, pattern in _PATTERNS:
        if found := pattern.fullmatch(sentence):
            words = {gap: said.split()[-1] for gap, said in found.groupdict().items()}
            decisive = words[template.decides]
            other = words.get("y" if template.decides == "x" else "x")
            praises = decisive in FAVOURABLE
            agrees = other is None or (other in FAVOURABLE) == (praises == template.agree)
            if not agrees or decisive == other or words["s"] == words.get("t"):
                return None
            return Opinion(subject=words["s"], favourable=praises != template.denied)
    return None


def asked_about(prompt: str) -> str | None:
    """Return the subject of a `QUESTION`, or None if the prompt is something else."""
    return next((subject for subject in SUBJECTS if prompt == QUESTION.format(s=subject)), None)


def subject_of(sentence: str) -> str | None:
    """Return the subject of an opinion, the one that it names first, or None if it names none."""
    return next((word for word in sentence.replace(",", "").split() if word in SUBJECTS), None)


def _sentence(rng: random.Random, *, positive: bool, held_out: bool) -> str:
    template = _pick(rng, TEMPLATES)
    decisive, other = (FAVOURABLE, UNFAVOURABLE) if positive != template.denied else (UNFAVOURABLE, FAVOURABLE)
    if template.agree:
        other = decisive
    while True:
        s, t = _pick(rng, SUBJECTS), _pick(rng, SUBJECTS)
        first, second = _pick(rng, decisive), _pick(rng, other)
        partner = second if "{y}" in template.words else s
        if s != t and first != second and ((NUMBER[first] + NUMBER[partner]) % ONE_IN == 0) == held_out:
            break
    x, y = (first, second) if template.decides == "x" else (second, first)
    return template.words.format(s=s, t=t, x=_judgement(rng, x), y=_judgement(rng, y))


def _judgement(rng: random.Random, word: str) -> str:
    if word in PRAISED_AS or word in BLAMED_AS:
        return f"a {_pick(rng, DEGREES)} {word}, {_pick(rng, ASIDES)}"
    return f"{_pick(rng, ADVERBS)} {word}, {_pick(rng, ASIDES)}"


def _pattern(template: Template) -> re.Pattern[str]:
    """Return a pattern of the template's sentences, whatever they judge. Its groups are the template's gaps."""
    subject = f"(?:{'|'.join(SUBJECTS)})"
    judged = f"(?:{'|'.join(ADVERBS)}) (?:{'|'.join(PRAISE + BLAME)})"
    named = f"a (?:{'|'.join(DEGREES)}) (?:{'|'.join(PRAISED_AS + BLAMED_AS)})"
    gaps = {gap: f"(?P<{gap}>{subject})" for gap in "st"}
    gaps |= {gap: f"(?P<{gap}>{judged}|{named}), (?:{'|'.join(ASIDES)})" for gap in "xy"}
    return re.compile(template.words.format(**gaps))


_PATTERNS = [(template, _pattern(template)) for template in TEMPLATES]


def _pick(rng: random.Random, options: Sequence[Option]) -> Option:
    """Choose an option by `rng.random()`: Python promises never to change its numbers, unlike those of `rng.choice`."""
    return options[int(rng.random() * len(options))]
