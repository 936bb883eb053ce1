"""The English body that comes with the package: what it associates, and what it knows."""

from dataclasses import replace

import numpy as np

from benchmarks.associations import ASKED, association
from glassformer.readers.body.vectors import Body
from tests.bodies import ENGLISH


def test_associations_are_as_on_paper() -> None:
    """Words along one axis, those of the first list on the side of the first attributes: d is as large as it gets."""
    english = Body.load(ENGLISH)
    words = {name: ASKED["words"][name] for name in ("flowers", "insects", "pleasant", "unpleasant")}
    vectors = np.zeros_like(english.vectors)
    for sign, names in ((1, ("flowers", "pleasant")), (-1, ("insects", "unpleasant"))):
        for name in names:
            vectors[[english.index[word] for word in words[name] if word in english.index], 0] = sign
    drawn = replace(english, vectors=vectors)
    found = association(drawn, "flowers", "insects", "pleasant", "unpleasant")
    n, m = found["words"]["flowers"], found["words"]["insects"]
    values = np.array([2.0] * n + [-2.0] * m)
    assert np.isclose(found["d"], 4 / values.std(ddof=1))
    assert found["p"] < 0.001
    assert association(drawn, "insects", "flowers", "pleasant", "unpleasant")["p"] > 0.999


def test_the_shipped_body_knows_english() -> None:
    english = Body.load(ENGLISH)
    assert {"films", "actor"} <= {word for word, _ in english.nearest("film", 10)}
    assert sum(file.stat().st_size for file in ENGLISH.iterdir()) < 12_000_000
    sources = (ENGLISH / "SOURCES.tsv").read_text(encoding="utf-8")
    kinds = {line.split("\t")[1] for line in sources.splitlines()[1:]}
    assert {name.split("-1")[0].split("-0")[0] for name in english.card.sources} <= kinds
