from collections.abc import Sequence
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from glassformer.alignment.pairs import Pair, ReadPair, read_together
from glassformer.data.tokenizers import START_ID
from tests.alignment.samples import run
from tests.prediction.language import SMALL, byte_tokenizer

TOKENIZER = byte_tokenizer()
texts = st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=4)


@given(texts)
def test_prompt_and_completion_are_encoded_apart(both: list[tuple[str, str]]) -> None:
    prompts, completions = [prompt for prompt, _ in both], [other for _, other in both]
    found = read_together(TOKENIZER, prompts, completions)
    assert len(found) == len(both)
    for pair, prompt, completion in zip(found, prompts, completions, strict=True):
        assert pair.token_ids.dtype == np.int64
        assert pair.token_ids[0] == START_ID
        assert TOKENIZER.decode(pair.token_ids[1 : pair.begins].tolist()) == prompt
        assert TOKENIZER.decode(pair.token_ids[pair.begins :].tolist()) == completion


def test_a_pair_is_as_long_as_prompt_and_completion_and_the_start_token() -> None:
    (pair,) = read_together(TOKENIZER, ["12345"], ["x" * 3])
    assert (pair.length, pair.begins) == (9, 6)


def test_what_fills_the_window_fits_and_one_token_more_does_not(tmp_path: Path) -> None:
    window = SMALL.max_seq_len
    pairs = [Pair(prompt="12345", completion="x" * (size - 6)) for size in (window, window + 1, 7)]
    fresh = run(tmp_path, held_out=0)
    assert fresh.start.shape.max_seq_len == window

    def read(some: Sequence[Pair]) -> list[ReadPair]:
        return read_together(TOKENIZER, [pair.prompt for pair in some], [pair.completion for pair in some])

    train, held_out, records = fresh.divide(pairs, read, source="pairs")
    assert [pair.length for pair in train] == [window, 7]
    assert (held_out, records.train, records.held_out, records.too_long) == ([], 2, 0, 1)
