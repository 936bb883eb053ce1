import random

import polars as pl

from glassformer.data.table import Table
from glassformer.labels.truth import Truth, truth_of

WORDS = {"good": ("lovely", "superb", "delightful", "charming"), "bad": ("dull", "awful", "boring", "clumsy")}
THINGS = ("film", "opera", "novel", "ballet", "concert", "exhibition", "play", "comedy", "drama", "musical")
ENDS = ("in spring", "by the river", "for my sister", "on a rainy evening", "after dinner", "with old friends")


def opinions(count: int, seed: int = 0) -> list[tuple[str, str]]:
    """Different texts, of which two words say the label."""
    draw = random.Random(seed)
    found: dict[str, str] = {}
    while len(found) < count:
        label = ("good", "bad")[len(found) % 2]
        one, other = draw.sample(WORDS[label], 2)
        first, second = draw.sample(THINGS, 2)
        name = "".join(draw.choices("bcdfghklmnprstvz", k=20))  # so that no texts are nearly the same
        text = f"{one} {first} of {name}, and then a {other} {second} {draw.choice(ENDS)}"
        found.setdefault(text, label)
    return list(found.items())


def truth_in(rows: list[tuple[str, str]]) -> Truth:
    return truth_of(table_of(rows))


def table_of(rows: list[tuple[str, str]], **columns: list[str]) -> Table:
    texts, labels = zip(*rows, strict=True)
    frame = pl.DataFrame({"text": texts, "label": labels, **columns}).with_row_index("row", offset=1)
    return Table(frame=frame, source="opinions.csv", text_column="text", label_column="label")
