import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from glassformer.data.batches import ModelInputs
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import PAD_ID, START_ID, UNKNOWN_ID, TextTokenizer, TokenizerConfig
from glassformer.data.windows import PackedStream, excerpts
from glassformer.errors import UsageError
from glassformer.models.language_model import LanguageModel
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.published.notes_decoder import NotesLanguageModel, NotesLanguageModelConfig
from glassformer.training import language_modelling
from glassformer.training.language_modelling import (
    IGNORED,
    LanguageModelling,
    documents_and_places,
    token_cost,
)
from glassformer.training.loop import Trainer
from glassformer.training.pretrain import begins_word
from glassformer.training.task import Examples
from glassformer.training.training_config import PretrainingConfig
from tests.prediction.language import random_model
from tests.support import double_precision, randomise, right_padded

VOCAB_SIZE, WINDOW = 31, 7
POSITIONS = pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned", "rotary", "rotary-on-embeddings"])


def store(texts: Sequence[Sequence[int]]) -> TokenStore:
    return TokenStore.in_memory([np.array(text, dtype=np.int64) for text in texts])


def some_texts(lengths: Sequence[int] = (3, 11, 0, 1, 5, 24, 2, 8, 6), seed: int = 1) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(UNKNOWN_ID + 2, VOCAB_SIZE, length).tolist() for length in lengths]


def settings_of(**values: Any) -> PretrainingConfig:
    defaults = {"batch_size": 3, "min_steps_per_epoch": 1, "optimizer": "adamw", "precision": "float32"}
    return PretrainingConfig.model_validate(defaults | values)


def task_of(
    texts: Sequence[Sequence[int]] | None = None,
    *,
    window: int = WINDOW,
    causal: bool = True,
    validation: Sequence[Sequence[int]] | None = None,
    validation_bytes: int = 0,
    begins: Any = None,
    **values: Any,
) -> LanguageModelling:
    return LanguageModelling(
        store(some_texts() if texts is None else texts),
        settings_of(**values),
        window=window,
        causal=causal,
        validation=None if validation is None else store(validation),
        validation_bytes=validation_bytes,
        begins_word=begins,
    )


def batches_of(task: LanguageModelling, epoch: int = 0) -> list[Examples]:
    return [batch for step in task.steps(epoch) for batch in step()]


def model_of(**values: Any) -> LanguageModel:
    return random_model(VOCAB_SIZE, max_seq_len=WINDOW, **values)


class Uniform(nn.Module):
    """Takes every token for equally likely."""

    def __init__(self, vocab_size: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(1, vocab_size))

    def read(self, token_ids: Tensor, *_arguments: Any, **_values: Any) -> Tensor:
        return torch.ones(*token_ids.shape, 1)

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden @ self.table


def alone(model: Any, tokens: Sequence[int]) -> Tensor:
    """The summed loss of a document, or of the part of one in a window: each token after those before it."""
    read = torch.tensor([tokens[:-1]])
    logits = model.logits(model.read(read, torch.ones_like(read, dtype=torch.bool)))
    return F.cross_entropy(logits[0], torch.tensor(tokens[1:]), reduction="sum")


def parts_of(window: list[int]) -> list[list[int]]:
    """A window with the token after it, cut into its documents, each with the start token of the next at its end."""
    cuts = [0, *(place for place, token in enumerate(window) if token == START_ID and place > 0), len(window) - 1]
    return [window[first : last + 1] for first, last in pairwise(cuts) if first < last]


# The causal loss


def test_where_documents_begin_by_hand() -> None:
    documents, places = documents_and_places(torch.tensor([[8, 9, 2, 7, 2, 2, 5, 6], [2, 5, 6, 7, 8, 9, 2, 4]]))
    assert documents.tolist() == [[0, 0, 1, 1, 2, 3, 3, 3], [1, 1, 1, 1, 1, 1, 2, 2]]
    assert places.tolist() == [[0, 1, 0, 1, 0, 0, 1, 2], [0, 1, 2, 3, 4, 5, 0, 1]]


@POSITIONS
def test_the_loss_is_that_of_each_document_read_alone(positions: str) -> None:
    """Loss and gradients: within a window no document sees another, and each begins at position 0."""
    task, model = task_of(), model_of(positions=positions)
    for batch in batches_of(task):
        windows = torch.cat([batch.inputs.token_ids, batch.labels[:, -1:]], dim=1).tolist()
        parts = [part for window in windows for part in parts_of(window)]
        assert len(parts) > len(windows)
        assert task.weight(batch) == sum(len(part) - 1 for part in parts) == batch.inputs.token_ids.numel()
        expected = torch.stack([alone(model, part) for part in parts]).sum()
        found = task.cost(model, batch).loss
        assert found.item() == pytest.approx(expected.item(), rel=1e-6)
        weights = list(model.parameters())
        gradients = (torch.autograd.grad(loss, weights) for loss in (found, expected))
        for gradient, other in zip(*gradients, strict=True):
            torch.testing.assert_close(gradient, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("asked", [1, 9])
def test_logits_come_in_few_numbers(monkeypatch: pytest.MonkeyPatch, asked: int) -> None:
    """A new number of masked tokens in each step would fill the memory with gaps."""
    model = model_of(attention="full")
    token_ids = torch.tensor([[START_ID, 5, 6, 4, 9], [7, 8, START_ID, 9, 4]])
    labels = torch.where(torch.arange(10).view(2, 5) < asked, token_ids, IGNORED)
    sizes: list[int] = []
    logits = model.logits

    def told(hidden: Tensor) -> Tensor:
        sizes.append(len(hidden))
        return logits(hidden)

    monkeypatch.setattr(model, "logits", told)
    token_cost(model, Examples(ModelInputs(token_ids, right_padded([5, 5])), labels))
    assert sizes == [64]


@pytest.mark.parametrize("attention", ["causal", "full"])
def test_padding_is_not_read(attention: str) -> None:
    model = model_of(attention=attention, positions="learned")
    token_ids = torch.tensor([[START_ID, 5, 6, PAD_ID, PAD_ID], [7, 8, START_ID, 9, 4]])
    labels = torch.tensor([[IGNORED, 6, 7, IGNORED, IGNORED], [8, START_ID, 9, 4, 11]])
    padded = token_cost(model, Examples(ModelInputs(token_ids, right_padded([3, 5])), labels))
    alone = [
        token_cost(
            model,
            Examples(ModelInputs(token_ids[row, None, :length], right_padded([length])), labels[row, None, :length]),
        )
        for row, length in enumerate((3, 5))
    ]
    assert padded.item() == pytest.approx(sum(loss.item() for loss in alone), rel=1e-6)
    padded.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters() if parameter.grad is not None)


def test_the_design_of_the_notes_reads_across_documents() -> None:
    config = NotesLanguageModelConfig(max_seq_len=WINDOW, emb_dim=12, num_heads=3, n_layers=1)
    with double_precision():
        model = randomise(NotesLanguageModel(config, VOCAB_SIZE)).eval()
    task = task_of()
    for batch in batches_of(task):
        expected = sum(
            alone(model, [*row, int(labels[-1])]).item()
            for row, labels in zip(batch.inputs.token_ids.tolist(), batch.labels, strict=True)
        )
        assert task.cost(model, batch).loss.item() == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("causal", [True, False])
def test_the_first_loss_is_that_of_guessing(causal: bool) -> None:
    rng = np.random.default_rng(2)
    task = task_of([rng.integers(3, 400, 90).tolist() for _ in range(12)], window=40, causal=causal)
    model = LanguageModel(
        LanguageModelConfig.model_validate({"attention": "causal" if causal else "full", "max_seq_len": 40}), 400
    )
    loss, weight = 0.0, 0.0
    for batch in batches_of(task):
        loss += task.cost(model, batch).loss.item()
        weight += task.weight(batch)
    assert loss / weight == pytest.approx(math.log(400), abs=0.1)


# Epochs


def numbered_texts() -> list[list[int]]:
    """No token occurs twice."""
    lengths, texts, first = (3, 11, 0, 1, 5, 24, 2, 8, 6, 31), [], 3
    for length in lengths:
        texts.append(list(range(first, first + length)))
        first += length
    return texts


def windows_of(batches: Sequence[Examples]) -> list[tuple[int, ...]]:
    rows = [both for batch in batches for both in zip(batch.inputs.token_ids, batch.labels, strict=True)]
    return [(*read.tolist(), int(labels[-1])) for read, labels in rows]


def as_lists(batch: Examples) -> list[Any]:
    return [tensor.tolist() for tensor in (*batch.inputs, batch.labels)]


def test_a_pass_has_every_window_of_its_stream_once() -> None:
    task = task_of(numbered_texts(), batch_size=2)
    found = windows_of(batches_of(task))
    read = Counter(token for window in found for token in window[:-1] if token != START_ID)
    answered = Counter(token for window in found for token in window[1:] if token != START_ID)
    assert max(read.values()) == max(answered.values()) == 1
    whole = sum(map(len, numbered_texts())) + len(numbered_texts()) + 1
    assert len(found) == (whole - 1) // WINDOW
    assert len(answered) > sum(map(len, numbered_texts())) - WINDOW
    for window in found:  # within a document nothing is left out
        assert all(
            following == token + 1 for token, following in pairwise(window) if START_ID not in (token, following)
        )


def test_windows_and_documents_are_shuffled() -> None:
    task = task_of(numbered_texts(), batch_size=2)
    streams = [task._stream(number) for number in (0, 1)]
    in_order = [[tuple(stream.window(i).tolist()) for i in range(len(stream))] for stream in streams]
    assert in_order[0] != in_order[1]
    found = windows_of(batches_of(task))
    assert found != in_order[0]
    assert sorted(found) == sorted(in_order[0])
    plain = PackedStream(task.train, np.arange(len(task.train)), WINDOW)
    assert in_order[0][0] != tuple(plain.window(0).tolist())


def test_few_windows_are_read_several_times_in_an_epoch() -> None:
    once = task_of(numbered_texts(), batch_size=2)
    per_pass = len(once.steps(0))
    several = task_of(numbered_texts(), batch_size=2, min_steps_per_epoch=2 * per_pass + 1)
    assert len(several.steps(0)) == 3 * per_pass
    found = windows_of(batches_of(several))
    size = len(windows_of(batches_of(once)))
    passes = [found[first : first + size] for first in range(0, len(found), size)]
    assert len(passes) == 3
    assert passes[0] == windows_of(batches_of(once))
    for windows in passes:
        assert max(Counter(token for window in windows for token in window[1:] if token != START_ID).values()) == 1
    assert passes[0] != passes[1] != passes[2]


@pytest.mark.parametrize("causal", [True, False])
def test_an_epoch_is_a_function_of_seed_and_number(causal: bool) -> None:
    def epoch(seed: int, number: int) -> list[list[Any]]:
        task = task_of(causal=causal, seed=seed)
        return [as_lists(batch) for batch in batches_of(task, number)]

    def later_steps(seed: int, number: int) -> list[list[Any]]:
        """As a resumed run reads them."""
        steps = task_of(causal=causal, seed=seed).steps(number)[2:]
        return [as_lists(batch) for step in steps for batch in step()]

    assert epoch(4, 1) == epoch(4, 1)
    assert later_steps(4, 1) == epoch(4, 1)[2:]
    assert epoch(4, 1) != epoch(4, 2)
    assert epoch(4, 1) != epoch(5, 1)


def test_steps_are_of_so_many_windows() -> None:
    task = task_of(batch_size=2, accumulation=3)
    steps = [step() for step in task.steps(0)]
    assert [[len(batch.inputs.token_ids) for batch in step] for step in steps] == [[2, 2, 2], [2, 1]]
    assert [task.count(batch) for batch in steps[1]] == [2 * WINDOW, WINDOW]


def gradients_of(task: LanguageModelling, model: nn.Module, config: PretrainingConfig, parts: int = 1) -> list[Tensor]:
    trainer = Trainer(model, task, config)
    trainer.state.micro_batches = parts
    batches = task.steps(0)[0]()
    trainer._gradients(batches, sum(map(task.weight, batches)))
    return [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("batch_size", "accumulation", "parts"), [(1, 8, 1), (4, 2, 1), (8, 1, 3)])
def test_a_step_is_one_however_it_is_cut(batch_size: int, accumulation: int, parts: int, causal: bool) -> None:
    """Also where nothing is hidden in a window, of unknown words alone."""
    texts = [*some_texts(), [UNKNOWN_ID] * 2 * WINDOW]
    model = model_of(dropout=0.0, attention="causal" if causal else "full")
    whole = gradients_of(task_of(texts, batch_size=8, causal=causal), model, settings_of(batch_size=8))
    cut: dict[str, Any] = {"batch_size": batch_size, "accumulation": accumulation}
    found = gradients_of(task_of(texts, **cut, causal=causal), model, settings_of(**cut), parts)
    assert len(found) == len(whole) == len(list(model.parameters()))
    for gradient, other in zip(found, whole, strict=True):
        torch.testing.assert_close(gradient, other, rtol=1e-4, atol=1e-6)


# Held-out texts


def test_the_held_out_loss_is_that_of_each_document_read_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = some_texts((3, 6, 0, 1, 5, 2), seed=4)
    model = model_of()
    expected = sum(alone(model, [START_ID, *text, START_ID]).item() for text in texts) / sum(
        len(text) + 1 for text in texts
    )
    for tokens in (8192, 3 * WINDOW, 1):  # one batch, two batches, one for each document
        monkeypatch.setattr(language_modelling, "_VALIDATION_TOKENS", tokens)
        task = task_of(validation=texts)
        assert len(task._held_out(store(texts))) == {8192: 1, 3 * WINDOW: 2, 1: 6}[tokens]
        assert task.validate(model)["validation_loss"] == pytest.approx(expected, rel=1e-6)


def test_every_token_of_a_long_document_is_predicted_with_half_a_window_before_it() -> None:
    (text,) = texts = some_texts((24,), seed=4)
    model, whole = model_of(), [START_ID, *text, START_ID]
    expected, predicted = 0.0, 0
    while predicted < len(whole) - 1:
        first = max(0, predicted - (WINDOW - WINDOW // 2)) if predicted else 0
        last = min(first + WINDOW, len(whole) - 1)
        before = alone(model, whole[first : predicted + 1]).item() if predicted > first else 0.0
        expected += alone(model, whole[first : last + 1]).item() - before
        predicted = last
    assert task_of(validation=texts).validate(model)["validation_loss"] == pytest.approx(expected / 25, rel=1e-6)


def test_a_uniform_model_takes_the_bytes_that_it_takes() -> None:
    texts = ["ab", "é€", "", "a long one, in several windows"]
    tokenizer = TextTokenizer.train([], TokenizerConfig(kind="byte", lowercase=False, normalization="none"))
    n_bytes = 2 + 5 + 0 + 30
    task = task_of(validation=[row.tolist() for row in tokenizer.encode(texts)], validation_bytes=n_bytes)
    found = task.validate(Uniform(256))
    # One of 256 takes 8 bits: for each byte, and for the end of each of the four texts.
    assert found == pytest.approx(
        {"validation_loss": math.log(256), "validation_bits_per_byte": 8 * (n_bytes + 4) / n_bytes}
    )


def test_what_has_no_bytes_has_no_bits() -> None:
    texts = some_texts((3, 9))
    assert task_of(validation=texts).validate(model_of()).keys() == {"validation_loss"}
    masked = task_of(validation=texts, validation_bytes=40, causal=False)
    assert masked.validate(model_of(attention="full")).keys() == {"validation_loss"}
    assert task_of().validate(model_of()) == {}


@pytest.mark.parametrize("training", [True, False])
def test_validation_is_without_dropout_and_changes_nothing(training: bool) -> None:
    task, model = task_of(validation=some_texts((3, 9))), model_of(dropout=0.8)
    model.train(training)
    assert task.validate(model) == task.validate(model)
    assert model.training == training
    assert all(parameter.grad is None for parameter in model.parameters())


# Filling in


class Rows:
    """In place of a packed stream."""

    def __init__(self, rows: Sequence[Sequence[int]]) -> None:
        self.rows = rows

    def window(self, number: int) -> Any:
        return np.array([*self.rows[number], START_ID])  # the token after a window is of no use here


def hidden_of(task: LanguageModelling, tokens: Sequence[Sequence[int]], number: int = 0) -> Examples:
    """The examples of these windows in the pass of this number."""
    stream: Any = Rows(tokens)
    return task._batch(stream, number, list(range(len(tokens))))


@given(seed=st.integers(0, 99), share=st.floats(0.05, 0.95))
def test_what_is_hidden_is_what_is_asked(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    tokens = rng.integers(PAD_ID, VOCAB_SIZE, (4, 9))
    tokens[:, 2] = [5, 6, 7, 8]
    found = hidden_of(task_of(causal=False, hidden_share=share), tokens.tolist(), seed)
    hidden = found.labels != IGNORED
    original = torch.from_numpy(tokens)
    assert hidden.any(dim=1).all(), "something in each window"
    assert (original[hidden] > START_ID).all(), "padding, unknown words and start tokens stay as they are"
    assert torch.equal(found.labels[hidden], original[hidden])
    assert (found.inputs.token_ids[hidden] == UNKNOWN_ID).all()
    assert torch.equal(found.inputs.token_ids[~hidden], original[~hidden])
    assert found.inputs.attention_mask.all()


@pytest.mark.parametrize("share", [0.15, 0.25, 0.6])
def test_about_the_share_is_hidden(share: float) -> None:
    rng = np.random.default_rng(6)
    task = task_of([rng.integers(3, VOCAB_SIZE, 10_000).tolist()], window=100, causal=False, hidden_share=share)
    labels = torch.cat([batch.labels for batch in batches_of(task)])
    ordinary = labels.numel() - 1  # but for the start token
    deviations = ((labels != IGNORED).sum().item() - share * ordinary) / math.sqrt(share * (1 - share) * ordinary)
    assert abs(deviations) < 4


def test_each_pass_hides_others() -> None:
    task = task_of([list(range(3, 31))], window=28, causal=False, hidden_share=0.5)
    found = [batches_of(task, epoch)[0] for epoch in (0, 1)]
    assert not torch.equal(found[0].inputs.token_ids, found[1].inputs.token_ids)


@given(
    batch_size=st.integers(1, 9), accumulation=st.integers(1, 4), whole_words=st.booleans(), share=st.floats(0.05, 0.9)
)
def test_what_is_hidden_in_a_window_does_not_depend_on_those_beside_it(
    batch_size: int, accumulation: int, whole_words: bool, share: float
) -> None:
    def epoch(**sizes: Any) -> list[list[list[int]]]:
        begins = np.arange(VOCAB_SIZE) % 3 > 0
        task = task_of(causal=False, begins=begins, whole_words=whole_words, hidden_share=share, **sizes)
        return [
            torch.cat(tensors).tolist()
            for tensors in zip(*((*b.inputs, b.labels) for b in batches_of(task)), strict=True)
        ]

    assert epoch(batch_size=batch_size, accumulation=accumulation) == epoch(batch_size=4)


def test_a_batch_with_nothing_to_hide_costs_nothing() -> None:
    task = task_of([[UNKNOWN_ID] * 9, [5]], causal=False)
    model = model_of(attention="full")
    found = hidden_of(task, [[START_ID, UNKNOWN_ID, UNKNOWN_ID]])
    assert 1 + task.weight(found) == 1
    loss = task.cost(model, found).loss / task.weight(found)
    loss.backward()
    assert loss.item() == 0
    assert all((parameter.grad == 0).all() for parameter in model.parameters() if parameter.grad is not None)


@pytest.mark.parametrize("texts", ["training", "held-out"])
def test_texts_of_unknown_words_alone_are_refused(texts: str) -> None:
    train, validation = [[UNKNOWN_ID] * 9], [[5, UNKNOWN_ID] * 9]
    if texts == "held-out":
        train, validation = validation, train
    with pytest.raises(UsageError, match=rf"all words of the {texts} texts are unknown"):
        task_of(train, validation=validation, causal=False)
    task_of(train, validation=validation)  # they can be predicted


def test_held_out_texts_are_filled_in_alike_each_time() -> None:
    task = task_of(validation=some_texts((3, 9, 30)), causal=False)
    model = model_of(attention="full")
    assert task.validate(model) == task.validate(model)


Places = set[tuple[int, int]]
held_out_lengths = st.lists(st.integers(0, 40), min_size=1, max_size=5).filter(any)


def filled_in(lengths: Sequence[int], window: int, tokens_in_a_batch: int = 8192, **values: Any) -> Places:
    """The text and the place in it of every token that counts; what is hidden in all pieces is just that."""
    token_of = {place: 3 + token for token, place in enumerate((i, j) for i, n in enumerate(lengths) for j in range(n))}
    place_of = {token: place for place, token in token_of.items()}
    texts = [[token_of[i, j] for j in range(length)] for i, length in enumerate(lengths)]
    begins = np.array([True] * 3 + [place % 3 == 0 for _, place in token_of])
    task = task_of(window=window, validation=texts, causal=False, begins=begins, **values)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language_modelling, "_VALIDATION_TOKENS", tokens_in_a_batch)
        rows = [row for batch in task._held_out(store(texts)) for row in zip(*as_lists(batch), strict=True)]
    counted = [place_of[answer] for _, _, labels in rows for answer in labels if answer != IGNORED]
    assert len(counted) == len(set(counted))
    pieces = sorted(excerpts(store(texts), window), key=lambda excerpt: len(excerpt.tokens))
    for (read, _, _), piece in zip(rows, pieces, strict=True):
        for token, shown in zip(piece.tokens[:-1].tolist(), read, strict=False):  # padding follows
            assert shown == (UNKNOWN_ID if place_of.get(token) in counted else token)
    return set(counted)


@given(
    lengths=held_out_lengths,
    windows=st.tuples(st.integers(1, 30), st.integers(1, 30)),
    tokens_in_a_batch=st.integers(1, 90),
    whole_words=st.booleans(),
)
def test_what_is_filled_in_of_held_out_texts_depends_on_no_window_and_no_batch(
    lengths: list[int], windows: tuple[int, int], tokens_in_a_batch: int, whole_words: bool
) -> None:
    one, other = windows
    found = filled_in(lengths, one, whole_words=whole_words)
    assert found == filled_in(lengths, other, tokens_in_a_batch, whole_words=whole_words)
    assert {text for text, _ in found} == {text for text, length in enumerate(lengths) if length}, "something of each"


@given(lengths=held_out_lengths, first=st.integers(0, 40), whole_words=st.booleans())
def test_what_is_filled_in_of_a_text_does_not_depend_on_the_others(
    lengths: list[int], first: int, whole_words: bool
) -> None:
    found = [filled_in([length, *lengths], 9, whole_words=whole_words) for length in (7, first)]
    assert {place for place in found[0] if place[0]} == {place for place in found[1] if place[0]}


@given(lengths=held_out_lengths, tokens_in_a_batch=st.integers(1, 90))
def test_the_held_out_loss_does_not_depend_on_the_batches(lengths: list[int], tokens_in_a_batch: int) -> None:
    task, model = task_of(validation=some_texts(lengths), causal=False), model_of(attention="full")
    expected = task.validate(model)["validation_loss"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language_modelling, "_VALIDATION_TOKENS", tokens_in_a_batch)
        assert task.validate(model)["validation_loss"] == pytest.approx(expected, rel=1e-5)


def test_every_token_of_a_held_out_text_is_filled_in_once_where_all_are_hidden() -> None:
    (text,) = texts = some_texts((24,))
    task = task_of(validation=texts, causal=False, hidden_share=0.999999)
    labels = torch.cat([batch.labels.flatten() for batch in task._held_out(store(texts))])
    assert sorted(labels[labels != IGNORED].tolist()) == sorted(text), "each token once, though read twice"


def test_about_the_share_of_held_out_texts_is_filled_in() -> None:
    """And others in each text, by each seed."""
    by_seed = [filled_in([600] * 5, 30, hidden_share=0.3, seed=seed) for seed in (0, 1)]
    assert all(abs(len(found) - 900) < 4 * math.sqrt(0.3 * 0.7 * 3000) for found in by_seed)
    by_text = [{place for text, place in found if text == number} for found in by_seed for number in range(5)]
    assert all(len(places & other) < 90 for places, other in combinations(by_text, 2))  # by chance 54 of 600, not 180


def test_a_held_out_text_is_filled_in_as_if_it_were_alone() -> None:
    """Padding beside longer texts, also where there is more of it than text, changes nothing."""
    texts = some_texts((1, 6, 3))
    task = task_of(validation=texts, causal=False, hidden_share=0.7)
    model = model_of(attention="full", positions="learned")
    (batch,) = task._held_out(store(texts))
    loss = 0.0
    for read, kept, labels in zip(*batch.inputs, batch.labels, strict=True):
        length = int(kept.sum())
        logits = model.logits(model.read(read[None, :length], torch.ones(1, length, dtype=torch.bool)))
        loss += F.cross_entropy(logits[0], labels[:length], reduction="sum", ignore_index=IGNORED).item()
        assert (labels[length:] == IGNORED).all()
    assert ((batch.labels != IGNORED).any(dim=1)).sum() > 1
    assert task.cost(model, batch).loss.item() == pytest.approx(loss, rel=1e-6)


WORDS = "unbelievable rewriting of unbelievable rewritings, unwritten believers believe"


@pytest.mark.parametrize(
    ("kind", "sizes"),
    [("bpe", {"vocab_size": 275}), ("wordpiece", {"vocab_size": 36}), ("unigram", {"vocab_size": 60}), ("byte", {})],
)
def test_the_pieces_of_a_word_are_hidden_together(kind: str, sizes: dict[str, int]) -> None:
    config = TokenizerConfig.model_validate({"kind": kind, "min_frequency": 1} | sizes)
    tokenizer = TextTokenizer.train([WORDS], config)
    (ids,) = (row.tolist() for row in tokenizer.encode([WORDS]))
    assert UNKNOWN_ID not in ids
    words = WORDS.replace(",", " ,").split() if kind == "wordpiece" else WORDS.split()
    begins = begins_word(tokenizer, kind)
    row = [START_ID, *ids]
    first = [place for place, token in enumerate(row) if token == START_ID or begins[token]]
    starts = sorted({1, *first} - {0})  # the first word begins after the start token, whatever its piece says
    assert len(starts) == len(words), [tokenizer.decode([token]) for token in ids]
    assert len(ids) > 2 * len(words)

    task = task_of(causal=False, whole_words=True, hidden_share=0.3, begins=begins)
    all_hidden = set()
    for seed in range(60):  # with some in which chance hides no word, and one is hidden all the same
        hidden = (hidden_of(task, [row], seed).labels[0] != IGNORED).tolist()
        assert not hidden[0]
        by_word = [set(hidden[start:other]) for start, other in zip(starts, [*starts[1:], len(row)], strict=True)]
        assert all(len(word) == 1 for word in by_word)
        assert any(hidden)
        all_hidden.add(tuple(True in word for word in by_word))
    assert len(all_hidden) > 10, "words are hidden one by one"


def test_without_whole_words_pieces_are_hidden_one_by_one() -> None:
    begins = np.zeros(VOCAB_SIZE, dtype=bool)
    found = hidden_of(task_of(causal=False, begins=begins, hidden_share=0.5), [[5] * 60])
    assert 10 < (found.labels != IGNORED).sum() < 50


def test_no_word_goes_on_in_the_next_document() -> None:
    begins = np.zeros(VOCAB_SIZE, dtype=bool)
    task = task_of(causal=False, whole_words=True, begins=begins, hidden_share=0.5)
    found = {
        tuple((hidden_of(task, [[5, 5, START_ID, 6, 6]], seed).labels[0] != IGNORED).tolist()) for seed in range(30)
    }
    two, none = (True, True), (False, False)
    assert found == {(*before, False, *other) for before, other in ((two, none), (none, two), (two, two))}


# Too little text


@pytest.mark.parametrize("lengths", [(0, 1), (5,), (2, 3), (40,)])
def test_too_little_text_names_a_window_that_can_be_filled(lengths: tuple[int, ...]) -> None:
    texts, tokens = some_texts(lengths), sum(lengths) + len(lengths)
    task_of(texts, window=tokens)
    with pytest.raises(UsageError, match=rf"^{tokens} tokens do not fill one window of {tokens + 1}; ") as refused:
        task_of(texts, window=tokens + 1)
    (proposed,) = re.findall(r"model\.max_seq_len=(\d+)", str(refused.value))
    assert len(task_of(texts, window=int(proposed)).steps(0)) >= 1
