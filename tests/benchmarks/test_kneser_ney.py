from collections import Counter, defaultdict
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.kneser_ney import FALLBACK, KneserNey, discounts
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import START_ID

A, B, C = 3, 4, 5
VOCAB_SIZE = 7
Texts = Sequence[Sequence[int]]

texts_of_some_tokens = st.lists(st.lists(st.integers(3, VOCAB_SIZE - 1), max_size=8), min_size=1, max_size=12)


def store(texts: Texts) -> TokenStore:
    return TokenStore.in_memory([np.array(text, dtype=np.int64) for text in texts])


def next_token_probs(model: KneserNey, context: Sequence[int]) -> list[float]:
    """Of every token after a document that begins like this."""
    probs = model.token_probs(store([[*context, token] for token in range(model.vocab_size)]))
    return probs.reshape(model.vocab_size, -1)[:, len(context)].tolist()


class Slow:
    """The same model read off the formulas: n-grams as tuples in dictionaries, probabilities by recursion."""

    def __init__(self, texts: Texts, vocab_size: int, order: int) -> None:
        self.vocab_size, self.order = vocab_size, order
        occurrences: Counter[tuple[int, ...]] = Counter()
        before = defaultdict(set)
        for text in texts:
            whole = (START_ID, *text, START_ID)
            for last in range(1, len(whole)):
                for first in range(max(0, last - order + 1), last + 1):
                    occurrences[whole[first : last + 1]] += 1
                    if first:
                        before[whole[first : last + 1]].add(whole[first - 1])
        self.counts = {
            gram: times if len(gram) == order or (gram[0] == START_ID and len(gram) > 1) else len(before[gram])
            for gram, times in occurrences.items()
        }
        sizes = range(1, order + 1)
        self.taken = {
            size: discounts(np.array([count for gram, count in self.counts.items() if len(gram) == size], dtype=int))
            for size in sizes
        }

    def prob(self, context: tuple[int, ...], token: int) -> float:
        context = context[max(0, len(context) - self.order + 1) :]
        shorter = self.prob(context[1:], token) if context else 1 / self.vocab_size
        following = {gram[-1]: count for gram, count in self.counts.items() if gram[:-1] == context}
        if not following:
            return shorter
        taken = {word: self.taken[len(context) + 1][min(count, 3) - 1] for word, count in following.items()}
        own = following.get(token, 0) - taken.get(token, 0.0)
        return (own + sum(taken.values()) * shorter) / sum(following.values())


@given(texts=texts_of_some_tokens, others=texts_of_some_tokens, order=st.integers(1, 5))
def test_as_the_formulas_say(texts: Texts, others: Texts, order: int) -> None:
    """Texts that were counted and texts that were not, token by token."""
    slow, read = Slow(texts, VOCAB_SIZE, order), [*texts, *others]
    expected = [
        slow.prob((START_ID, *text[:place]), token) for text in read for place, token in enumerate([*text, START_ID])
    ]
    fast = KneserNey.fit(store(texts), VOCAB_SIZE, order)
    np.testing.assert_allclose(fast.token_probs(store(read)), expected, rtol=1e-12)


def long_texts(rng: np.random.Generator) -> list[list[int]]:
    """Enough of them for discounts that are estimated, of tokens that are not all alike."""
    chances = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.03, 0.01])
    return [rng.choice(np.arange(3, 10), size=size, p=chances).tolist() for size in rng.integers(0, 30, size=80)]


def test_as_the_formulas_say_with_estimated_discounts() -> None:
    rng = np.random.default_rng(3)
    texts, others = long_texts(rng), long_texts(rng)[:6]
    slow, fast = Slow(texts, 11, 4), KneserNey.fit(store(texts), 11, 4)
    assert sum(taken != FALLBACK for taken in slow.taken.values()) >= 2
    expected = [
        slow.prob((START_ID, *text[:place]), token) for text in others for place, token in enumerate([*text, START_ID])
    ]
    np.testing.assert_allclose(fast.token_probs(store(others)), expected, rtol=1e-12)


@pytest.mark.parametrize("order", [1, 2, 5])
@pytest.mark.parametrize("context", [[], [A, B], [9, 9, 9, 9, 9], [3, 3, 4, 3, 5, 3, 3], [10], [1, 0, 10, 3, 10, 10]])
def test_probabilities_of_all_next_tokens_sum_to_one(order: int, context: list[int]) -> None:
    """After contexts that were seen, that were seen in part, and tokens (0, 1, 10) that were never seen at all."""
    model = KneserNey.fit(store(long_texts(np.random.default_rng(1))), 11, order)
    probs = next_token_probs(model, context)
    assert sum(probs) == pytest.approx(1, abs=1e-12)
    assert min(probs) > 0


def test_a_tiny_corpus_by_hand() -> None:
    """Texts "a b", "a b" and "a c".

    Bigrams: start-a 3, a-b 2, b-end 2, a-c 1, c-end 1. Two of count 1, two of 2, one of 3, none of 4: Y = 2 / 6, and
    the discounts are 1 − 2Y = 1/3, 2 − 3Y / 2 = 3/2, and 3.

    Single tokens by what they follow: a 1 (start), b 1, c 1 (both a), end 2 (b and c), 5 in all. None has 3, so the
    discounts are .5 and 1: 2.5 in all, left to the seven tokens alike, 2.5 / 5 / 7 = 1/14 for each.
    """
    model = KneserNey.fit(store([[A, B], [A, B], [A, C]]), VOCAB_SIZE, 2)
    nothing = Fraction(1, 14)
    a = b = c = Fraction(1, 2) / 5 + nothing
    end = Fraction(2 - 1, 5) + nothing
    after_start = {A: a, B: b, START_ID: end}
    left = (Fraction(3, 2) + Fraction(1, 3)) / 3
    after_a = {B: Fraction(1, 2) / 3 + left * b, C: Fraction(2, 3) / 3 + left * c, A: left * a}
    after_b = {START_ID: Fraction(1, 2) / 2 + Fraction(3, 4) * end, 6: Fraction(3, 4) * nothing}
    for context, expected in (([], after_start), ([A], after_a), ([A, B], after_b)):
        probs = next_token_probs(model, context)
        assert {token: probs[token] for token in expected} == pytest.approx(
            {token: float(prob) for token, prob in expected.items()}
        )
    assert next_token_probs(model, [A, 6]) == pytest.approx(
        [float({A: a, B: b, C: c, START_ID: end}.get(token, nothing)) for token in range(VOCAB_SIZE)]
    )


def test_a_token_that_follows_few_others_is_unlikely_where_its_neighbour_is_unknown() -> None:
    """What continuation counts are for: "francisco" is frequent, after "san" alone."""
    san, francisco = 3, 4
    texts = [[san, francisco]] * 9 + [[other, 9] for other in range(5, 9)]
    probs = next_token_probs(KneserNey.fit(store(texts), 11, 3), [10])
    assert probs[9] > 2 * probs[francisco]


def test_discounts_by_hand() -> None:
    """6, 3, 2 and 1 n-grams of counts 1 to 4: Y = 6 / 12; 1 − 2Y·3/6, 2 − 3Y·2/3, 3 − 4Y·1/2."""
    counts = np.array([1] * 6 + [2] * 3 + [3] * 2 + [4] + [17] * 5)
    assert discounts(counts) == pytest.approx((0.5, 1.0, 2.0))


@pytest.mark.parametrize(
    "counts",
    [
        pytest.param([], id="nothing"),
        pytest.param([1, 1, 2, 4], id="none of three"),
        pytest.param([2, 2, 3], id="none of one"),
        pytest.param([1, 1, 2, 3, 3, 3, 3, 3], id="below zero"),
    ],
)
def test_discounts_that_cannot_be_estimated(counts: list[int]) -> None:
    assert discounts(np.array(counts, dtype=np.int64)) == FALLBACK


def test_bits_of_documents_are_those_of_their_tokens() -> None:
    texts = [[A, B, C], [], [B]]
    model = KneserNey.fit(store([[A, B], [C, A, B], []]), VOCAB_SIZE, 3)
    bits = -np.log2(model.token_probs(store(texts)))
    assert len(bits) == 4 + 1 + 2
    assert model.document_bits(store(texts)).tolist() == pytest.approx([bits[:4].sum(), bits[4], bits[5:].sum()])


def test_a_text_is_likelier_after_it_was_read() -> None:
    rng = np.random.default_rng(5)
    texts = long_texts(rng)
    before, after = (KneserNey.fit(store(read), 11).document_bits(store(texts[:1])) for read in (texts[1:], texts))
    assert after[0] < before[0]
