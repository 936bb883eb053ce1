import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from glassformer.alignment.reading import fitting, read_together
from glassformer.data.tokenizers import START_ID
from tests.prediction.language import SMALL, byte_tokenizer

TOKENIZER = byte_tokenizer()
texts = st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=4)


@given(texts)
def test_prompt_and_completion_are_encoded_apart(both: list[tuple[str, str]]) -> None:
    prompts, completions = [one for one, _ in both], [other for _, other in both]
    found = read_together(TOKENIZER, prompts, completions)
    assert len(found) == len(both)
    for pair, prompt, completion in zip(found, prompts, completions, strict=True):
        assert pair.token_ids.dtype == np.int64
        assert pair.token_ids[0] == START_ID
        assert TOKENIZER.decode(pair.token_ids[1 : pair.begins].tolist()) == prompt
        assert TOKENIZER.decode(pair.token_ids[pair.begins :].tolist()) == completion


def test_what_fills_the_window_fits_and_one_token_more_does_not() -> None:
    sizes = [SMALL.max_seq_len - 1, SMALL.max_seq_len, 0]
    pairs = read_together(TOKENIZER, ["12345"] * 3, ["x" * max(0, size - 5) for size in sizes])
    assert [len(pair.token_ids) for pair in pairs] == [SMALL.max_seq_len, SMALL.max_seq_len + 1, 6]
    assert fitting(pairs, SMALL) == [pairs[0], pairs[2]]
