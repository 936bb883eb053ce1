"""Quang-Vinh Dinh, "Transformer for Text Classification" (AI Viet Nam): its classifiers, its worked step."""

from contextlib import nullcontext

import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError

from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.models.build import build_model, parameter_count
from glassformer.models.listening import listening
from glassformer.models.published.vinh import (
    VinhAttention,
    VinhAttentionConfig,
    VinhMLP,
    VinhMLPConfig,
    VinhTransformer,
    VinhTransformerConfig,
    attention_scores,
)
from glassformer.models.published.vinh_recurrent import VinhRecurrent, VinhRecurrentConfig
from glassformer.training.optimizers import build_optimizers
from glassformer.training.training_config import TrainingConfig
from tests.models.published.samples import batch
from tests.support import randomise

PRINTED = {0: 1, 1: 0}
"""The slides' ids of unknown (0) and padding (1) by ours; words come one later here, after the start token."""


def as_printed(ids: list[int], length: int) -> list[int]:
    """Our ids in the slides' numbering, cut or padded to `length`."""
    renumbered = [PRINTED.get(token, token - 1) for token in ids[:length]]
    return renumbered + [1] * (length - len(renumbered))


def word_tokenizer(*corpus: str) -> TextTokenizer:
    """A vocabulary of the slides' eight, and our start token."""
    return TextTokenizer.train(corpus, TokenizerConfig(vocab_size=9, min_frequency=1))


def test_vocabulary_of_learning_ai() -> None:
    corpus = ("We are learning AI", "AI is a CS topic")
    tokenizer = word_tokenizer(*corpus)
    words = {word: as_printed([token], 1)[0] for word, token in tokenizer.vocabulary().items()}
    printed = {"<unk>": 0, "<pad>": 1, "ai": 2, "a": 3, "are": 4, "cs": 5, "is": 6, "learning": 7}
    assert {word: words[word] for word in printed} == printed
    rows = [as_printed(ids.tolist(), 5) for ids in tokenizer.encode(corpus)]
    assert rows == [[0, 4, 7, 2, 1], [2, 6, 3, 5, 0]]


def test_vocabulary_of_the_proverbs() -> None:
    corpus = ("gậy ông đập lưng ông", "có làm mới có ăn")
    tokenizer = word_tokenizer(*corpus)
    words = {word: as_printed([token], 1)[0] for word, token in tokenizer.vocabulary().items()}
    printed = {"có": 2, "ông": 3, "gậy": 4, "làm": 5, "lưng": 6, "mới": 7}
    assert {word: words[word] for word in printed} == printed
    rows = [as_printed(ids.tolist(), 5) for ids in tokenizer.encode(corpus)]
    assert rows == [[4, 3, 0, 6, 3], [2, 5, 7, 2, 0]]


def test_the_step_worked_by_hand() -> None:
    """Loss 1.2480 → .6497 by SGD at .1, as the slide's loss says.

    The slide also prints W, b and z after the step: they are of an Adam-type step (z −.0261, −.5182, loss .4771) and
    contradict its own loss of .65.
    """
    model = VinhMLP(VinhMLPConfig(max_seq_len=6, embed_dim=2), vocab_size=9, n_classes=2)
    x = [-0.1882, 1.7840, 1.0281, -1.3083, 0.2293, 0.4058, 0.5582, 0.4309]
    y = [0.5530, -0.8278, -1.9094, -0.0987, 1.3255, -0.6624, 0.0786, -1.3067]
    table = torch.tensor([x, y]).T
    first = [0.2108, -0.0074, 0.2760, 0.2325, -0.0518, -0.1876, 0.0194, 0.0378, 0.0210, 0.2982]
    second = [0.0284, 0.2968, -0.0260, 0.1251, -0.0282, 0.0175, -0.1817, 0.2483, 0.2338, 0.2985]
    with torch.no_grad():
        model.embedding.weight.copy_(torch.stack([table[1], table[0], torch.zeros(2), *table[2:]]))
        model.fc.weight.copy_(torch.tensor([first, second]))
        model.fc.bias.copy_(torch.tensor([-0.3049, 0.1028]))
    (sgd,) = build_optimizers(model, TrainingConfig(optimizer="sgd", learning_rate=0.1, weight_decay=0))
    text, label = batch([5, 4, 1, 7, 4]), torch.tensor([0])  # "gậy ông đập lưng ông"; the slides' ids 4 3 0 6 3

    before = model(*text)
    loss = F.cross_entropy(before, label)
    loss.backward()
    sgd.step()
    after = model(*text)

    torch.testing.assert_close(before, torch.tensor([[-0.787511, 0.122123]]), atol=2e-6, rtol=0)
    assert loss.item() == pytest.approx(1.248013, abs=1e-6)
    torch.testing.assert_close(after, torch.tensor([[-0.286601, -0.375455]]), atol=2e-6, rtol=0)
    assert F.cross_entropy(after, label).item() == pytest.approx(0.649707, abs=1e-6)


def test_the_printed_attention_is_not_used() -> None:
    config = VinhAttentionConfig(max_seq_len=7, embed_dim=5)
    printed = randomise(VinhAttention(config, 11, 3))
    mlp = VinhMLP(VinhMLPConfig(max_seq_len=7, embed_dim=5), 11, 3)
    mlp.load_state_dict({"embedding.weight": printed.word_emb.weight, **fc_of(printed)})
    text = batch([3, 4, 9], [10, 8, 7, 6, 5, 4])
    torch.testing.assert_close(printed(*text), mlp(*text))
    meant = VinhAttention(config.model_copy(update={"flattens": "attention"}), 11, 3)
    meant.load_state_dict(printed.state_dict())
    assert not torch.allclose(meant(*text), printed(*text), atol=1e-2)


def fc_of(model: VinhAttention) -> dict[str, torch.Tensor]:
    return {"fc.weight": model.fc.weight, "fc.bias": model.fc.bias}


def test_attention_without_projections_by_hand() -> None:
    words = torch.tensor([[[1.0, 0, 0, 0], [0, 2, 0, 0]]])  # scores 1/2 0 and 0 4/2
    near, far = torch.tensor([0.5, 0.0]).softmax(0), torch.tensor([0.0, 2.0]).softmax(0)
    expected = torch.tensor([[[near[0], 2 * near[1], 0, 0], [far[0], 2 * far[1], 0, 0]]])
    torch.testing.assert_close(attention_scores(words).softmax(-1) @ words, expected)


def test_in_the_printed_transformer_samples_attend_to_each_other() -> None:
    """Without `batch_first` a text's answer changes with its neighbours, and its own words never meet."""
    model = randomise(VinhTransformer(VinhTransformerConfig(max_seq_len=6, embed_dim=8, num_heads=2), 11, 3))
    text, one, other = [3, 4, 5], [6, 7, 8, 9, 10], [10, 9]
    beside_one, beside_other = model(*batch(text, one))[0], model(*batch(text, other))[0]
    assert (beside_one - beside_other).abs().max() > 0.01

    # alone in its batch, a word attends to itself: hidden states at other positions do not move with it
    seen: list[torch.Tensor] = []
    model.layernorm_2.register_forward_hook(lambda _module, _inputs, output: seen.append(output))
    model(*batch([3, 4, 5]))
    model(*batch([3, 9, 5]))
    moved = (seen[0] - seen[1]).abs().amax(dim=(0, 2)) > 1e-6
    assert moved.tolist() == [False, True, False, False, False]


def test_a_batch_of_one_keeps_its_axis() -> None:
    model = VinhTransformer(VinhTransformerConfig(max_seq_len=6, embed_dim=8, num_heads=2), 11, 3)
    assert model(*batch([3, 4])).shape == (1, 3)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("directions", ["forward", "both"])
def test_recurrent_reads_words_in_order_and_never_padding(cell: str, directions: str) -> None:
    config = VinhRecurrentConfig.model_validate({"cell": cell, "directions": directions, "embed_dim": 5, "hidden": 7})
    model = randomise(VinhRecurrent(config, 11, 3))
    texts = [[3, 4, 5, 6], [7], []]
    alone = torch.cat([model(*batch(text)) for text in texts])
    torch.testing.assert_close(model(*batch(*texts, width=13)), alone)
    assert not torch.allclose(model(*batch([3, 4, 5, 6])), model(*batch([4, 3, 5, 6])), atol=1e-4)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
@pytest.mark.parametrize("directions", ["forward", "both"])
def test_token_by_token_is_torchs_cell(cell: str, directions: str) -> None:
    """In a batch with padding: the answers, and the gradient of every weight."""
    config = VinhRecurrentConfig.model_validate({"cell": cell, "directions": directions, "embed_dim": 5, "hidden": 7})
    model = randomise(VinhRecurrent(config, 11, 3)).double()
    texts = batch([3, 4, 5, 6], [7], [], width=7)
    results = []
    for names in ([], ["forwards.state"]):
        model.zero_grad()
        with listening(model, names) if names else nullcontext():
            logits = model(*texts)
        (logits * torch.arange(1, 10).view(3, 3)).sum().backward()
        results.append([logits, *(weight.grad for weight in model.parameters())])
    torch.testing.assert_close(results[0], results[1], atol=1e-12, rtol=1e-10)


def test_attention_between_texts_in_steps_is_torchs() -> None:
    model = randomise(VinhTransformer(VinhTransformerConfig(max_seq_len=6, embed_dim=8, num_heads=2), 11, 3)).double()
    texts = batch([3, 4, 5], [6, 7, 8, 9, 10], [10])
    at_once = model(*texts)
    with listening(model) as heard:
        torch.testing.assert_close(model(*texts), at_once, atol=1e-12, rtol=1e-10)
    assert heard["between_texts.weights"].shape == (3, 2, 5, 3)  # text, head, position, the text that is looked at
    torch.testing.assert_close(heard["between_texts.weights"].sum(-1), torch.ones(3, 2, 5).double())


def test_one_direction_is_torchs_last_state() -> None:
    model = randomise(VinhRecurrent(VinhRecurrentConfig(cell="gru", embed_dim=5, hidden=7), 11, 3))
    token_ids, mask = batch([3, 4, 5, 6])
    states, _ = model.cell(model.embedding(token_ids))
    torch.testing.assert_close(model(token_ids, mask), model.fc(states[:, -1]))


def test_heads_must_fit() -> None:
    with pytest.raises(ValidationError, match="embed_dim=32, num_heads=5"):
        VinhTransformerConfig(num_heads=5)


def test_sizes_by_hand() -> None:
    """Embedding, attention with biases, two norms, the linear feed-forward and the head, for 13 words and width 8."""
    transformer = VinhTransformerConfig(max_seq_len=6, embed_dim=8, num_heads=2)
    by_hand = 13 * 8 + 5 * 8 + (3 * 64 + 24 + 64 + 8) + 2 * 16 + (64 + 8) + (16 + 2)
    assert parameter_count(transformer, 13, 2) == by_hand
    assert parameter_count(VinhMLPConfig(), 20_000, 2) == 20_000 * 32 + 200 * 32 * 2 + 2
    assert parameter_count(VinhAttentionConfig(), 20_000, 2) == parameter_count(VinhMLPConfig(), 20_000, 2)
    assert isinstance(build_model(transformer, 13, 2), VinhTransformer)
