import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.alignment.pairs import (
    FEWEST,
    Pair,
    Preference,
    ReadPair,
    hold_out_records,
    read_pairs,
    read_preferences,
    read_prompts,
    read_together,
)
from glassformer.data.tokenizers import START_ID
from glassformer.errors import UsageError
from tests.alignment.samples import run
from tests.prediction.language import SMALL, byte_tokenizer


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., Path]:
    """A file with these lines; a line that is no text is written as JSON."""

    def write(*lines: Any, name: str = "records.jsonl") -> Path:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        (tmp_path / name).write_text("\n".join(texts), encoding="utf-8")
        return tmp_path / name

    return write


def test_pairs_are_read_in_their_order_and_blank_lines_are_passed_over(written: Callable[..., Path]) -> None:
    file = written(
        {"prompt": "a", "completion": " b", "more": 1},
        "  ",
        {"prompt": "", "completion": "ü"},
        {"completion": "d\u2028e", "prompt": "c"},
    )
    assert read_pairs(file) == [
        Pair(prompt="a", completion=" b"), Pair(prompt="", completion="ü"), Pair(prompt="c", completion="d\u2028e")
    ]  # fmt: skip


def test_messages_become_lines_of_role_and_content_and_the_last_is_the_completion(
    written: Callable[..., Path],
) -> None:
    messages = [
        {"role": "system", "content": ""}, {"role": "user", "content": "2 + 2?"}, {"role": "tutor", "content": "4"}
    ]  # fmt: skip
    file = written({"messages": messages}, {"messages": messages[2:]}, messages[2:])
    assert read_pairs(file) == [
        Pair(prompt="system: \nuser: 2 + 2?\ntutor:", completion=" 4"),
        *[Pair(prompt="tutor:", completion=" 4")] * 2,
    ]


def test_preferences_may_come_without_a_prompt(written: Callable[..., Path]) -> None:
    file = written({"prompt": "a", "chosen": "b", "rejected": "c"}, {"chosen": "d", "rejected": "e"})
    assert read_preferences(file) == [
        Preference(prompt="a", chosen="b", rejected="c"), Preference(prompt="", chosen="d", rejected="e")
    ]  # fmt: skip


def test_prompts_of_json_lines_and_of_lines_of_text_come_once_each(written: Callable[..., Path]) -> None:
    file = written({"prompt": "b "}, {"prompt": "a", "completion": 3}, {"prompt": "b "}, {"prompt": ""})
    assert read_prompts(file) == ["b ", "a", ""]
    for name in ("prompts.txt", "PROMPTS.TXT"):
        assert read_prompts(written("\ufeffb ", "", "a\r", "b ", ' {"prompt": 1}', name=name)) == [
            "b ", "a", ' {"prompt": 1}'
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "not readable as JSON .*; each line must be a complete record"),
        ("[" * 100_000, "not readable as JSON"),
        (r'{"prompt": "\ud800", "completion": "a"}', "not readable as JSON .*half of a surrogate pair"),
        ("[1, 2]", '"messages" must be a list of {"role": …, "content": …}'),
        ('"text"', "a record must be a JSON object, got 'text'"),
        ({"prompt": "a"}, 'there is no "completion"'),
        ({"completion": "a"}, 'there is no "prompt"'),
        ({"prompt": 3, "completion": "a"}, '"prompt" must be a text, got 3'),
        ({"prompt": "a", "completion": None}, '"completion" must be a text, got None'),
        ({"prompt": 10**400, "completion": "a"}, '"prompt" must be a text, got 1000[0.]{,90}$'),
        ({"prompt": "a", "completion": ""}, '"completion" is empty'),
        ({"prompt": "a", "completion": " \n\u00a0"}, '"completion" holds only white space'),
        ({"messages": []}, '"messages" must be a list'),
        ({"messages": {"role": "user"}}, '"messages" must be a list'),
        ({"messages": ["hello"]}, '"messages" must be a list'),
        ({"messages": [{"content": "a"}]}, 'there is no "role"'),
        ({"messages": [{"role": "tutor"}]}, 'there is no "content"'),
        ({"messages": [{"role": "user", "content": "a"}]}, "the last message is the user's"),
        ({"messages": [{"role": "", "content": "a"}]}, '"role" is empty'),
        ({"messages": [{"role": "user", "content": "a"}, {"role": "tutor", "content": ""}]}, '"content" is empty'),
    ],
)
def test_a_line_that_is_no_pair_is_named(line: Any, words: str, written: Callable[..., Path]) -> None:
    file = written({"prompt": "a", "completion": "b"}, "", line)
    with pytest.raises(UsageError, match=rf"records\.jsonl, line 3: {words}"):
        read_pairs(file)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ({"prompt": "a", "chosen": "b"}, 'there is no "rejected"'),
        ({"prompt": "a", "rejected": "b"}, 'there is no "chosen"'),
        ({"prompt": "a", "chosen": "b", "rejected": ""}, '"rejected" is empty'),
        ({"prompt": ["a"], "chosen": "b", "rejected": "c"}, '"prompt" must be a text'),
        ({"chosen": "\t", "rejected": "c"}, '"chosen" holds only white space'),
        ({"chosen": "b", "rejected": " "}, '"rejected" holds only white space'),
        ({"chosen": "b", "rejected": "b"}, '"chosen" and "rejected" are the same'),
    ],
)
def test_a_line_that_is_no_preference_is_named(line: Any, words: str, written: Callable[..., Path]) -> None:
    with pytest.raises(UsageError, match=rf"records\.jsonl, line 2: {words}"):
        read_preferences(written("", line))


@pytest.mark.parametrize("read", [read_pairs, read_preferences, read_prompts])
def test_files_that_hold_no_record(
    read: Callable[[Path], list[Any]], written: Callable[..., Path], tmp_path: Path
) -> None:
    for name in ("records.jsonl", "records.txt"):
        with pytest.raises(UsageError, match=rf"{name} holds no (record|prompt)"):
            read(written(" ", "", name=name))
    with pytest.raises(UsageError, match="No such file"):
        read(tmp_path / "none.jsonl")


@pytest.mark.parametrize("name", ["records.jsonl", "records.txt"])
def test_bytes_that_are_not_utf_8_are_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b'{"prompt": "a"}\n{"prompt": "caf\xe9"}\n')
    with pytest.raises(UsageError, match=rf"{name} has to be UTF-8.*0xe9 in line 2.*Save it as UTF-8"):
        read_prompts(tmp_path / name)


def pairs(prompts: list[int]) -> list[Pair]:
    """One for each, all different."""
    return [Pair(prompt=str(prompt), completion=str(number)) for number, prompt in enumerate(prompts)]


@given(st.lists(st.integers(0, 60), min_size=40, max_size=90), st.floats(0.01, 0.5), st.integers(0, 5))
def test_nothing_is_lost_and_nothing_is_on_both_sides(prompts: list[int], share: float, seed: int) -> None:
    records = pairs(prompts)
    train, held_out = hold_out_records(records, share, seed=seed)
    assert sorted([*train, *held_out], key=lambda pair: int(pair.completion)) == records
    assert train == [pair for pair in records if pair in train], "the order stays"
    if 2 * len(set(prompts)) >= len(prompts):
        sides = [{pair.prompt for pair in side} for side in (train, held_out)]
        assert not sides[0] & sides[1]
        assert len(sides[1]) == max(1, round(share * len(set(prompts))))
    else:
        assert len(held_out) == max(1, round(share * len(records)))


def test_where_prompts_are_few_equal_records_stay_together() -> None:
    records = [Pair(prompt="", completion=str(number // 3)) for number in range(60)]
    train, held_out = hold_out_records(records, 0.25, seed=3)
    assert (len(train), len(held_out)) == (45, 15)
    assert not set(train) & set(held_out)


def test_what_is_held_out_is_a_function_of_the_seed() -> None:
    records = pairs(list(range(50)))
    assert hold_out_records(records, 0.2, seed=1) == hold_out_records(records, 0.2, seed=1)
    assert hold_out_records(records, 0.2, seed=1)[1] != hold_out_records(records, 0.2, seed=2)[1]


def test_prompts_alone_are_held_out_too() -> None:
    train, held_out = hold_out_records([*"abcdefghijkl", "a"], 0.25, seed=0)
    assert len(set(held_out)) == 3
    assert not set(train) & set(held_out)


def test_of_few_records_none_is_held_out() -> None:
    few = pairs(list(range(FEWEST)))
    assert len(hold_out_records(few, 0.1, seed=0)[1]) == 1
    assert hold_out_records(few[1:], 0.5, seed=0) == (few[1:], [])
    assert hold_out_records(few, 0.0, seed=0) == (few, [])
    assert hold_out_records([*few[1:], few[1]], 0.5, seed=0)[1] == [], "a record twice is no second one"


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
