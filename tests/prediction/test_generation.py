from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.data.tokenizers import PAD_ID, START_ID, UNKNOWN_ID, TextTokenizer, TokenizerConfig
from glassformer.errors import GlassformerError
from glassformer.models.published.notes_decoder import NotesLanguageModel, NotesLanguageModelConfig
from glassformer.prediction.generation import Continuation, TextGenerator, View, begin_views, write_tokens
from glassformer.prediction.sampling import SamplingConfig
from tests.prediction.language import TEXT, Recites, byte_tokenizer, random_model
from tests.support import randomise, right_padded

VOCAB_SIZE, WINDOW = 23, 9
POSITIONS = pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned", "rotary", "rotary-on-embeddings"])
PROMPTS = [[7, 3, 9, 9, 4], [], [12, 5, 20, 8, 8, 15, 3, 6], [21]]


def views_of(prompts: Sequence[Sequence[int]] = PROMPTS, window: int = WINDOW) -> list[View]:
    return begin_views(prompts, window, seed=0)


def tokens_of(model: Any, views: list[View], *, cached: bool = True, **sampling: Any) -> list[list[int]]:
    """What is written after each prompt."""
    steps = list(write_tokens(model, views, SamplingConfig.model_validate(sampling), cached=cached))
    return [[token for step in steps if (token := step[row]) is not None] for row in range(len(views))]


def endless(model: Any, vocab_size: int = VOCAB_SIZE) -> Any:
    """The same with a head of its own, so that greedy texts vary, and which never writes the end token."""
    head = torch.randn(vocab_size, 12, dtype=next(model.parameters()).dtype)

    def logits(hidden: torch.Tensor) -> torch.Tensor:
        found = hidden @ head.T
        found[..., START_ID] = -1e9
        return found

    model.logits = logits
    return model


def byte_model() -> TextGenerator:
    tokenizer = byte_tokenizer()
    return TextGenerator(random_model(tokenizer.vocab_size), tokenizer, max_seq_len=WINDOW)


def reciting(text: str | list[int], tokenizer: TextTokenizer | None = None) -> TextGenerator:
    tokenizer = tokenizer or byte_tokenizer()
    ids = tokenizer.encode([text])[0].tolist() if isinstance(text, str) else text
    return TextGenerator(Recites(ids, tokenizer.vocab_size), tokenizer, max_seq_len=500)


def recited(text: str | list[int], prompt: str = "", **sampling: Any) -> Continuation:
    (written,) = reciting(text).complete([prompt], SamplingConfig.model_validate({"temperature": 0} | sampling))
    return written


# Tokens


@POSITIONS
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_with_a_cache_as_without(positions: str, temperature: float) -> None:
    """Prompts of several lengths at once, past the window several times over."""
    model = endless(random_model(VOCAB_SIZE, positions=positions))
    sizes: list[int] = []
    model.trunk.embedding.register_forward_hook(lambda _module, inputs, _output: sizes.append(inputs[0].shape[1]))
    views = views_of()
    sampling: dict[str, Any] = {"max_tokens": 31, "temperature": temperature, "repetition_penalty": 3}
    kept = tokens_of(model, views, **sampling)
    assert sizes.count(1) > 10, "it never went on from the cache"
    sizes.clear()
    assert kept == tokens_of(model, views_of(), cached=False, **sampling)
    assert 1 not in sizes[1:]
    assert all(view.slid for view in views)
    assert all(len(row) == 31 and len(set(row)) > 4 for row in kept)


@POSITIONS
def test_the_likeliest_of_all_that_stands_there(positions: str) -> None:
    """Within the window: argmax of the logits of the whole text, of what is a token of texts."""
    model = endless(random_model(VOCAB_SIZE, positions=positions))
    text = [START_ID, 7, 11]
    for token in tokens_of(model, views_of([[7, 11]]), max_tokens=6, temperature=0)[0]:
        logits = model.logits(model.read(torch.tensor([text]), right_padded([len(text)])))[0, -1]
        logits[[PAD_ID, UNKNOWN_ID]] = -torch.inf
        assert token == int(logits.argmax())
        text.append(token)


def test_past_the_window_half_of_it_stays() -> None:
    model = endless(random_model(VOCAB_SIZE))
    written = tokens_of(model, views_of([[7, 11]]), max_tokens=20, temperature=0)[0]
    view = [START_ID, 7, 11]
    for token in written:
        assert len(view) <= WINDOW
        assert token == tokens_of(model, views_of([view[1:]]), max_tokens=1, temperature=0)[0][0]
        view.append(token)
        if len(view) > WINDOW:
            view = [START_ID, *view[-(WINDOW // 2) :]]


@pytest.mark.parametrize("window", [2, 3])
def test_the_smallest_windows(window: int) -> None:
    model = endless(random_model(VOCAB_SIZE, max_seq_len=window))
    found = tokens_of(model, views_of(PROMPTS, window), max_tokens=7)
    assert found == tokens_of(model, views_of(PROMPTS, window), max_tokens=7, cached=False)
    assert [len(row) for row in found] == [7] * 4


@POSITIONS
def test_what_stands_beside_a_text_changes_nothing(positions: str) -> None:
    """Neighbours that are longer or shorter, slide at other times, and end before: also just as their view is full."""
    model = endless(random_model(VOCAB_SIZE, positions=positions))
    config = SamplingConfig(max_tokens=20)
    alone = tokens_of(model, views_of(PROMPTS[:1]), max_tokens=20)[0]
    for ends in range(9):
        views, found = views_of(), []
        for step, tokens in enumerate(write_tokens(model, views, config)):
            found.append(tokens[0])
            for view in views[1:]:
                view.ended = view.ended or step == ends
            assert step <= ends or tokens[1:] == [None] * 3
        assert found == alone, ends


def test_a_design_without_a_cache() -> None:
    config = NotesLanguageModelConfig(max_seq_len=WINDOW, emb_dim=12, num_heads=3, n_layers=1)
    model = endless(randomise(NotesLanguageModel(config, VOCAB_SIZE)).eval())
    sampling: dict[str, Any] = {"max_tokens": 15, "temperature": 0, "repetition_penalty": 3}
    together = tokens_of(model, views_of(), **sampling)
    assert together == [tokens_of(model, [view], **sampling)[0] for view in views_of()]
    assert all(len(row) == 15 and len(set(row)) > 2 for row in together)


def test_padding_and_the_unknown_are_never_written() -> None:
    model = Recites([7, PAD_ID, 8], VOCAB_SIZE)
    assert tokens_of(model, views_of([[]]), max_tokens=9, temperature=0) == [[7, START_ID]]
    sampled = tokens_of(Recites([UNKNOWN_ID] * 300, VOCAB_SIZE), views_of([[]] * 5, 500), max_tokens=300)
    assert {PAD_ID, UNKNOWN_ID}.isdisjoint(token for row in sampled for token in row)


def test_the_penalty_is_for_tokens_in_view() -> None:
    model = Recites([7] * 6, VOCAB_SIZE)
    assert tokens_of(model, views_of([[]]), temperature=0, max_tokens=3) == [[7, 7, 7]]
    assert tokens_of(model, views_of([[]]), temperature=0, max_tokens=3, repetition_penalty=200) == [[7, START_ID]]
    assert tokens_of(model, views_of([[7]]), temperature=0, max_tokens=3, repetition_penalty=200) == [[START_ID]]
    forgotten = Recites([7] * 6, VOCAB_SIZE)
    assert tokens_of(forgotten, views_of([[7, 9, 9, 9, 9]], 4), temperature=0, repetition_penalty=200)[0][0] == 7


def test_a_model_that_answers_with_no_number_is_refused() -> None:
    model = random_model(VOCAB_SIZE)
    torch.nn.init.constant_(model.get_parameter("trunk.norm.weight"), torch.nan)
    with pytest.raises(GlassformerError, match="NaN or infinite logits"):
        tokens_of(model, views_of(), max_tokens=1)


# Seeds


def test_equal_seeds_write_equal_texts() -> None:
    prompts, writer = ["a b", "", "a b"], byte_model()
    first, again, other = (
        [written.token_ids for written in writer.complete(prompts, SamplingConfig(max_tokens=30, seed=seed))]
        for seed in (4, 4, 5)
    )
    assert first == again
    assert all(before != after for before, after in zip(first, other, strict=True))
    assert first[0] != first[2], "equal prompts have choices of their own"


def test_other_prompts_leave_the_choices_of_one_alone() -> None:
    """Wherever it stands, and however many are written at once."""
    writer, config = byte_model(), SamplingConfig(max_tokens=6)
    alone = [written.text for written in writer.complete(["a b", "a b"], config)]
    among = writer.complete(["a", "a b", *["c"] * 70, "a b"], config)
    assert [among[1].text, among[-1].text] == alone
    assert len({written.text for written in among[2:-1]}) > 40


def test_writing_leaves_the_generators_alone() -> None:
    writer = byte_model()
    before, numpy = torch.get_rng_state(), np.random.get_state()[1].tolist()  # type: ignore[index]
    writer.complete(["a"], SamplingConfig(max_tokens=5))
    assert torch.equal(before, torch.get_rng_state())
    assert numpy == np.random.get_state()[1].tolist()  # type: ignore[index]


def test_dropout_is_off_whenever_it_writes() -> None:
    tokenizer = byte_tokenizer()
    model = random_model(tokenizer.vocab_size, dropout=0.9)
    writer = TextGenerator(model, tokenizer, max_seq_len=WINDOW)
    found = []
    for _ in range(2):
        model.train()
        found.append(writer.complete(["abc"], SamplingConfig(max_tokens=25, temperature=0))[0].token_ids)
    assert found[0] == found[1]


# Texts and how they end


def test_it_goes_on_and_ends_where_the_model_ends() -> None:
    written = recited(TEXT, TEXT[:11])
    assert (written.text, written.ended, written.slid) == (TEXT[11:], "end", False)
    assert written.token_ids == [*byte_tokenizer().encode([TEXT[11:]])[0], START_ID]


def test_it_ends_after_so_many_tokens() -> None:
    written = recited(TEXT, max_tokens=9)
    assert (written.text, written.ended, len(written.token_ids)) == (TEXT[:9], "length", 9)
    exactly = recited(TEXT, max_tokens=len(TEXT) + 1)
    assert (exactly.text, exactly.ended) == (TEXT, "end")


def test_no_prompt_no_text() -> None:
    assert byte_model().complete([], SamplingConfig()) == []


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        (["mat"], "the cat sat on the "),
        ([" "], "the"),
        (["t"], ""),
        (["dog", "sat"], "the cat "),
        (["cat sat", "at"], "the c"),  # whichever is complete first
        ([" on", "sat on"], "the cat "),  # and of those the longest
        ([TEXT], ""),
    ],
)
def test_a_stop_string_ends_the_text_and_is_no_part_of_it(stop: list[str], expected: str) -> None:
    written = recited(TEXT, stop=stop)
    assert (written.text, written.ended) == (expected, "stop")


def test_a_stop_string_that_does_not_come_takes_nothing_away() -> None:
    for stop in ("cap", "door.", "mats", "tth", "rx"):
        written = recited(TEXT, stop=[stop])
        assert (written.text, written.ended) == (TEXT, "end")
    cut = recited(TEXT, stop=["matter"], max_tokens=TEXT.index("mat") + 2)
    assert (cut.text[-2:], cut.ended) == ("ma", "length")


def test_a_stop_string_within_a_token_and_across_tokens() -> None:
    tokenizer = TextTokenizer.train([TEXT] * 3, TokenizerConfig(kind="bpe", vocab_size=290, lowercase=False))
    assert len(tokenizer.encode([TEXT])[0]) < 25
    writer = reciting(TEXT, tokenizer)
    for stop in ("on t", "he m", "e", "t, an"):
        (written,) = writer.complete([""], SamplingConfig(temperature=0, stop=(stop,)))
        assert (written.text, written.ended) == (TEXT[: TEXT.index(stop)], "stop")


def test_a_stop_string_in_the_prompt_does_not_stop() -> None:
    assert recited(TEXT, "the cat", stop=["the", "cat sat"]).text == " sat on "


def shown(writer: TextGenerator, prompt: str, config: SamplingConfig) -> list[str]:
    """The text after every token."""
    return [written[0].text for written in writer.stream([prompt], config)]


def test_what_may_become_a_stop_string_waits() -> None:
    config = SamplingConfig(temperature=0, stop=("aab", "b!"))
    assert shown(reciting("aaxb baab"), "", config) == [
        "", "", "aax", "aax", "aaxb ", "aaxb ", "aaxb b", "aaxb b", "aaxb b",
    ]  # fmt: skip
    assert shown(reciting("xaa"), "", config)[-2:] == ["x", "xaa"]


def test_a_character_is_shown_when_it_is_whole() -> None:
    assert shown(reciting("é€"), "", SamplingConfig(temperature=0)) == ["", "é", "é", "é", "é€", "é€"]


def test_half_a_character_is_left_out_where_the_length_cuts_it() -> None:
    assert [recited("a😀b", max_tokens=count).text for count in (2, 4, 5, 6)] == ["a", "a", "a😀", "a😀b"]
    broken = byte_tokenizer().encode(["a😀"])[0].tolist()[:-1]
    assert recited(broken).text == "a\ufffd", "broken by the model, not by the length"


@settings(max_examples=100)
@given(
    # Bytes that make letters, begin characters of two to four bytes, go on with them, or make none at all.
    content=st.lists(st.sampled_from(b"aaabbb\xc3\xa9\xe2\x82\xf0\x9f\xff"), max_size=15).map(bytes),
    stop=st.lists(st.text("abé", min_size=2, max_size=4), max_size=2),
    max_tokens=st.integers(1, 20),
)
def test_what_is_shown_is_never_taken_back(content: bytes, stop: list[str], max_tokens: int) -> None:
    config = SamplingConfig(temperature=0, stop=tuple(stop), max_tokens=max_tokens)
    texts = shown(reciting([token_of(byte) for byte in content]), "", config)
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))

    final, whole = texts[-1], content[:max_tokens].decode(errors="replace")
    first = next((end for end in range(len(whole) + 1) if any(whole[:end].endswith(string) for string in stop)), None)
    if first is not None:
        assert final == whole[: min(at for string in stop if (at := whole[:first].find(string)) >= 0)]
    elif len(content) < max_tokens:
        assert final == whole
    else:
        assert final == whole.rstrip("\ufffd")


def token_of(byte: int) -> int:
    """The token of one byte, also of one that spells nothing alone (the library writes each as a printable letter)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return byte_tokenizer().vocabulary()[chr(byte if byte in printable else 256 + others.index(byte))]


# Prompts


def test_a_prompt_longer_than_the_window_loses_its_beginning() -> None:
    writer = byte_model()
    config = SamplingConfig(max_tokens=4, temperature=0)
    long, end = "a text too long to be seen", " be seen"  # with the start token a window of nine
    (written,) = writer.complete([long], config)
    (seen,) = writer.complete([end], config)
    assert written.token_ids == seen.token_ids
    assert written.slid
    (shorter,) = writer.complete([end[1:]], config)
    assert shorter.token_ids != written.token_ids, "the first of what fits does not matter here"


def test_slid_is_said_once_something_was_forgotten() -> None:
    tokenizer = byte_tokenizer()
    writer = TextGenerator(
        endless(random_model(tokenizer.vocab_size), tokenizer.vocab_size), tokenizer, max_seq_len=WINDOW
    )

    def slid(length: int, max_tokens: int) -> bool:
        return writer.complete(["a" * length], SamplingConfig(max_tokens=max_tokens))[0].slid

    assert not slid(WINDOW - 1, 1)  # with the start token a full window
    assert slid(WINDOW, 1)
    assert not slid(3, WINDOW - 3)  # what is read for the last token fills the window
    assert slid(3, WINDOW - 2)


@pytest.mark.parametrize(
    ("kinds", "prompt", "expected"),
    [
        (["word", "wordpiece"], "", "the cat sat , the end"),
        (["word", "wordpiece"], "the", " cat sat , the end"),
        (["word", "wordpiece"], "the ", "cat sat , the end"),
        (["word", "wordpiece"], "The cat\n", "sat , the end"),
        (["word", "wordpiece"], "the cat sat,", " the end"),
        (["word", "wordpiece"], "the cat sat, ", "the end"),
        (["wordpiece"], "the cat s", "at , the end"),
        (["unigram", "bpe", "byte", "character"], "", "the cat sat, the end"),
        (["unigram", "bpe", "byte", "character"], "the", " cat sat, the end"),
        (["unigram", "bpe", "byte", "character"], "the cat sat,", " the end"),
        (["byte", "character"], "the ", "cat sat, the end"),
        (["byte", "character"], "the cat sa", "t, the end"),
    ],
)
def test_words_are_set_apart_as_in_a_text(kinds: list[str], prompt: str, expected: str) -> None:
    for kind in kinds:
        size = {"wordpiece": 20, "unigram": 30}.get(kind, 300)
        config = TokenizerConfig.model_validate({"kind": kind, "vocab_size": size, "min_frequency": 1})
        tokenizer = TextTokenizer.train(["the cat sat, the end"], config)
        (written,) = reciting("the cat sat, the end", tokenizer).complete([prompt], SamplingConfig(temperature=0))
        assert (written.text, written.ended) == (expected, "end"), kind


def test_after_an_unknown_word_there_is_a_space_too() -> None:
    tokenizer = TextTokenizer.train([TEXT], TokenizerConfig(min_frequency=1))
    writer = reciting("dog sat on the mat", tokenizer)
    assert [writer.complete([prompt], SamplingConfig(temperature=0))[0].text for prompt in ("cow", "a cow", "")] == [
        " sat on the mat",
        " on the mat",
        "dog sat on the mat",
    ]


def test_a_space_that_is_a_token_is_followed_by_what_the_model_says() -> None:
    assert recited("a  b", "a ").text == " b"
