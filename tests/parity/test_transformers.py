"""Our layers against the `transformers` library: the same files, the same hidden states, logits and token ids."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from glassformer.data.labels import LabelSet
from glassformer.layers.heads import DenseHead
from glassformer.models.build import build_model
from glassformer.models.pretrained import PretrainedEncoder
from glassformer.training.initial_weights import InitialWeights, read_initial_weights, start_from
from tests.checkpoints import MODEL_TYPES, tokenizer_of, write_checkpoint
from tests.support import double_precision, right_padded

LABELS = LabelSet(names=("bad", "fine", "good"))
SEQ = 37  # longer than the reach of two local blocks on top of each other
MASKS = [[SEQ, SEQ, SEQ], [SEQ, 20, 9], [11, 1, SEQ]]
TEXTS = [
    "the plot is thin but i loved it", "", " ", "Ça va? naïve CAFÉ, großartig…", "电影很好看 and 漢字",
    "👍🏽 so good 🤷‍♀️ !!!", "a\tb\n\nc    d", "1,234.50 % — “quoted”", "x" * 130, "ﬁne ＦＵＬＬ width",
    "mail |||EMAIL||| me", "\u200bzero\u0301\x07 width",
]  # fmt: skip
PRE_NORM = ("modernbert", "eurobert")
families = pytest.mark.parametrize("family", MODEL_TYPES)


def ours_of(initial: InitialWeights, labels: LabelSet = LABELS) -> PretrainedEncoder:
    model = build_model(initial.model, initial.tokenizer.vocab_size, len(labels.names))
    start_from(model, initial.model, initial, labels)
    assert isinstance(model, PretrainedEncoder)
    return model.eval()


@contextmanager
def recorded(model: PretrainedEncoder) -> Iterator[list[Tensor]]:
    """The embeddings, then what comes out of each block and out of the last norm."""
    states: list[Tensor] = []
    parts: list[nn.Module] = [model.embedding_norm, *model.blocks, model.norm]
    hooks = [part.register_forward_hook(lambda _, __, output: states.append(output)) for part in parts]
    yield states
    for hook in hooks:
        hook.remove()


def rows_of(initial: InitialWeights, theirs: Any) -> list[int]:
    """For each of our ids theirs."""
    numbers: dict[str, int] = theirs.get_vocab()
    vocabulary = initial.tokenizer.vocabulary()
    return [numbers[token] for token in sorted(vocabulary, key=vocabulary.__getitem__)]


def batch(initial: InitialWeights, family: str, lengths: list[int]) -> tuple[Tensor, Tensor, Tensor]:
    """Our ids, theirs, and the mask; ids begin with the start token and are padded as each side pads."""
    mask = right_padded(lengths, SEQ)
    ids = torch.randint(3, initial.tokenizer.vocab_size, (3, SEQ))
    ids[:, 0] = 2
    ids = ids.masked_fill(~mask, 0)
    return ids, torch.tensor(rows_of(initial, tokenizer_of(family)))[ids], mask


def assert_parity(theirs: Any, folder: Path, family: str, lengths: list[int], tolerance: float) -> None:
    initial = read_initial_weights(f"hf:{folder}")
    ours = ours_of(initial)
    our_ids, their_ids, mask = batch(initial, family, lengths)
    with torch.no_grad(), recorded(ours) as states:
        logits = ours(our_ids, mask)
        expected = theirs(input_ids=their_ids, attention_mask=mask.long(), output_hidden_states=True)
    encoder = getattr(theirs, theirs.base_model_prefix)
    with torch.no_grad():
        last = encoder(input_ids=their_ids, attention_mask=mask.long()).last_hidden_state
    hidden = [*expected.hidden_states[:-1], states[-2] if family in PRE_NORM else last, last]
    for found, wanted in zip(states, hidden, strict=True):
        torch.testing.assert_close(found[mask], wanted[mask], rtol=tolerance, atol=tolerance)
    assert logits.std() > 0.1
    torch.testing.assert_close(logits, expected.logits, rtol=tolerance, atol=tolerance)


@families
@pytest.mark.parametrize("lengths", MASKS, ids=str)
def test_hidden_states_and_logits(family: str, lengths: list[int], tmp_path: Path) -> None:
    theirs = write_checkpoint(tmp_path, family, labels=LABELS.names)
    assert_parity(theirs, tmp_path, family, lengths, 1e-5)


@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta"])  # the others turn by angles in float32
def test_double_precision(family: str, tmp_path: Path) -> None:
    with double_precision():
        theirs = write_checkpoint(tmp_path, family, labels=LABELS.names)
        assert_parity(theirs, tmp_path, family, MASKS[1], 1e-10)


VARIANTS: list[tuple[str, dict[str, Any]]] = [
    ("bert", {"hidden_act": "gelu_new", "max_position_embeddings": 37}),
    ("bert", {"hidden_act": "relu"}),
    ("roberta", {"hidden_act": "gelu_pytorch_tanh"}),
    ("distilbert", {"activation": "relu"}),
    ("modernbert", {"attention_bias": True, "mlp_bias": True, "norm_bias": True, "classifier_bias": True}),
    ("modernbert", {"classifier_pooling": "mean", "hidden_activation": "silu", "norm_eps": 1e-2}),
    ("modernbert", {"layer_types": ["sliding_attention", "full_attention"] * 2 + ["sliding_attention"]}),
    ("modernbert", {"local_attention": 5}),
    ("eurobert", {"attention_bias": True, "mlp_bias": True, "classifier_pooling": "bos"}),
    ("eurobert", {"hidden_act": "sigmoid", "rms_norm_eps": 1e-1}),
]


@pytest.mark.parametrize(("family", "settings"), VARIANTS, ids=str)
def test_variants(family: str, settings: dict[str, Any], tmp_path: Path) -> None:
    theirs = write_checkpoint(tmp_path, family, labels=LABELS.names, **settings)
    assert_parity(theirs, tmp_path, family, MASKS[1], 1e-5)


@families
@pytest.mark.parametrize("task", ["Model", "ForMaskedLM", "ForTokenClassification"])
def test_checkpoints_without_a_classifying_head(family: str, task: str, tmp_path: Path) -> None:
    theirs = write_checkpoint(tmp_path, family, task, labels=LABELS.names)
    initial = read_initial_weights(f"hf:{tmp_path}")
    assert initial.labels is None
    ours = ours_of(initial)
    our_ids, their_ids, mask = batch(initial, family, MASKS[1])
    encoder = theirs if task == "Model" else getattr(theirs, theirs.base_model_prefix)
    with torch.no_grad(), recorded(ours) as states:
        assert ours(our_ids, mask).eq(0).all()  # a new head says nothing
        expected = encoder(input_ids=their_ids, attention_mask=mask.long())
    torch.testing.assert_close(states[-1][mask], expected.last_hidden_state[mask], rtol=1e-5, atol=1e-5)


def test_the_pooler_of_bert(tmp_path: Path) -> None:
    theirs = write_checkpoint(tmp_path, "bert", "Model")
    initial = read_initial_weights(f"hf:{tmp_path}")
    ours = ours_of(initial)
    our_ids, their_ids, mask = batch(initial, "bert", MASKS[1])
    pooled: list[Tensor] = []
    assert isinstance(ours.head, DenseHead)
    ours.head.dropout.register_forward_hook(lambda _, __, output: pooled.append(output))
    with torch.no_grad():
        ours(our_ids, mask)
        expected = theirs(input_ids=their_ids, attention_mask=mask.long()).pooler_output
    torch.testing.assert_close(pooled[0], expected, rtol=1e-5, atol=1e-5)


def test_several_files_half_precision_and_the_old_spelling(tmp_path: Path) -> None:
    """As large, or as old, checkpoints come."""
    from safetensors.torch import load_file, save_file

    write_checkpoint(tmp_path, "bert", labels=LABELS.names)
    whole = read_initial_weights(f"hf:{tmp_path}")
    tensors = load_file(tmp_path / "model.safetensors")
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor.half()
        for name, tensor in tensors.items()
    }
    names = sorted(old)
    parts = {f"model-0000{n}-of-00002.safetensors": names[n - 1 :: 2] for n in (1, 2)}
    for file, held in parts.items():
        save_file({name: old[name] for name in held}, tmp_path / file)
    index = {"metadata": {}, "weight_map": {name: file for file, held in parts.items() for name in held}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "model.safetensors").unlink()
    read = read_initial_weights(f"hf:{tmp_path}")
    assert read.weights.keys() == whole.weights.keys()
    for name, tensor in read.weights.items():
        assert tensor.dtype == torch.float32
        torch.testing.assert_close(tensor, whole.weights[name], rtol=1e-2, atol=1e-2)


@families
def test_token_ids(family: str, tmp_path: Path) -> None:
    write_checkpoint(tmp_path, family)
    theirs = tokenizer_of(family)
    initial = read_initial_weights(f"hf:{tmp_path}")
    rows = rows_of(initial, theirs)
    for text, ids in zip(TEXTS, initial.tokenizer.encode(TEXTS), strict=True):
        assert [rows[id_] for id_ in [2, *ids]] == theirs(text)["input_ids"], text
    initial.tokenizer.save(tmp_path / "ours.json")
    again = type(initial.tokenizer).load(tmp_path / "ours.json")
    assert [ids.tolist() for ids in again.encode(TEXTS)] == [ids.tolist() for ids in initial.tokenizer.encode(TEXTS)]


@pytest.mark.parametrize("cased", [False, True])
def test_token_ids_by_a_vocabulary_as_plain_text(cased: bool, tmp_path: Path) -> None:
    from transformers import BertTokenizer

    write_checkpoint(tmp_path, "bert")
    vocabulary = tokenizer_of("bert").get_vocab()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).unlink()
    (tmp_path / "vocab.txt").write_text("".join(f"{piece}\n" for piece in sorted(vocabulary, key=vocabulary.get)))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": not cased}))
    theirs = BertTokenizer(vocab=vocabulary, do_lower_case=not cased)
    initial = read_initial_weights(f"hf:{tmp_path}")
    rows = rows_of(initial, theirs)
    for text, ids in zip(TEXTS, initial.tokenizer.encode(TEXTS), strict=True):
        assert [rows[id_] for id_ in [2, *ids]] == theirs(text)["input_ids"], text
