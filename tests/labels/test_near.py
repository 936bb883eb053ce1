import random

import numpy as np
import pytest

from glassformer.labels import repeats
from glassformer.labels.repeats import NEAR, near_pairs


def words(count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(count)]


def runs(text: str) -> set[str]:
    return {text[start : start + 5] for start in range(max(1, len(text) - 4))}


def similarity(one: str, other: str) -> float:
    return len(runs(one) & runs(other)) / len(runs(one) | runs(other))


def test_pairs_are_those_of_comparing_all_texts() -> None:
    """Texts with one to eight changed words, so that similarities are spread from 0 to 1."""
    texts = []
    for seed in range(60):
        original = words(30, seed)
        texts.append(" ".join(original))
        changed = list(original)
        for place, word in zip(range(0, 30, 4), words(1 + seed % 8, 1000 + seed), strict=False):
            changed[place] = word
        texts.append(" ".join(changed))
    texts += ["", "a", "ab", "once upon a time", "日本語のテキスト、とても短い"]
    expected = {
        (first, second): similarity(texts[first], texts[second])
        for second in range(len(texts))
        for first in range(second)
        if similarity(texts[first], texts[second]) >= NEAR
    }
    assert 10 < len(expected) < 60
    found = near_pairs(texts)
    pairs = dict(zip(zip(found.first.tolist(), found.second.tolist(), strict=True), found.similarity, strict=True))
    assert pairs.keys() == expected.keys()
    assert all(value == pytest.approx(expected[pair]) for pair, value in pairs.items())


def test_batches_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [" ".join(words(12, seed)) for seed in range(40)]
    texts += [f"{text} indeed" for text in texts[:9]]
    whole = near_pairs(texts)
    assert len(whole.first) == 9
    shares: list[float] = []
    monkeypatch.setattr(repeats, "_CHARACTERS_AT_ONCE", 150)
    parts = near_pairs(texts, on_progress=shares.append)
    assert np.array_equal(whole.first, parts.first)
    assert np.array_equal(whole.similarity, parts.similarity)
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_of_many_texts_alike_each_keeps_a_pair() -> None:
    """Without comparing all of them: 400 texts have 79,800 pairs."""
    texts = [f"{' '.join(words(40, 1))} number {number}" for number in range(400)]
    found = near_pairs(texts)
    assert set(found.first.tolist()) | set(found.second.tolist()) == set(range(400))
    assert len(found.first) < 40_000


def test_no_texts_have_no_pairs() -> None:
    for texts in ([], ["alone"], ["quite", "different"]):
        assert len(near_pairs(texts).first) == 0
