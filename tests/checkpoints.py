"""Small checkpoints of other families, written by the `transformers` library, with tokenizers of their own."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from tests.support import randomise

transformers.utils.logging.disable_progress_bar()

FAMILIES = ("bert", "distilbert", "roberta", "modernbert", "eurobert")
MODEL_TYPES = (*FAMILIES, "xlm-roberta")
CORPUS = [
    "the plot is thin but i loved it", "Der Film war großartig, naïve Café-Szenen!", "a dull, dull book: 1,234 pages",
    "der film war furchtbar langweilig", "loved loved loved the cast", "电影 很 好看", "thin plots make long evenings",
]  # fmt: skip
_BERT_TOKENS = ["[PAD]", *(f"[unused{n}]" for n in range(3)), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
_CLASSES = {
    "bert": "Bert", "distilbert": "DistilBert", "roberta": "Roberta", "modernbert": "ModernBert",
    "eurobert": "EuroBert", "xlm-roberta": "XLMRoberta",
}  # fmt: skip


@functools.cache  # the library does not learn the same pieces each time
def tokenizer_of(family: str) -> PreTrainedTokenizerFast:
    """Learned from a few sentences; special tokens numbered as the family has them."""
    if family in ("bert", "distilbert"):
        inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
        inner.normalizer = normalizers.BertNormalizer(lowercase=True)
        inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        inner.decoder = decoders.WordPiece()
        learn = trainers.WordPieceTrainer(vocab_size=150, special_tokens=_BERT_TOKENS, show_progress=False)
        inner.train_from_iterator(CORPUS, learn)
        return _fast(inner, "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
    if family == "xlm-roberta":
        inner = Tokenizer(models.Unigram())
        inner.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
        inner.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
        inner.decoder = decoders.Metaspace()
        special = ["<s>", "<pad>", "</s>", "<unk>"]
        pieces = trainers.UnigramTrainer(vocab_size=120, special_tokens=special, unk_token="<unk>", show_progress=False)
        inner.train_from_iterator(CORPUS * 9, pieces)
        inner.add_special_tokens(["<mask>"])
        return _fast(inner, "<pad>", "<unk>", "<s>", "</s>", "<mask>")
    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    quiet: dict[str, Any] = {
        "initial_alphabet": sorted(pre_tokenizers.ByteLevel.alphabet()), "show_progress": False
    }  # fmt: skip
    if family == "roberta":
        special = ["<s>", "<pad>", "</s>", "<unk>"]
        inner.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=330, special_tokens=special, **quiet))
        inner.add_special_tokens(["<mask>"])
        return _fast(inner, "<pad>", "<unk>", "<s>", "</s>", "<mask>")
    inner.normalizer = normalizers.NFC()
    inner.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=320, **quiet))
    inner.add_tokens(["|||EMAIL|||", "    "])  # in the middle, and outside of the model's own vocabulary
    inner.add_special_tokens(["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"])
    return _fast(inner, "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def _fast(inner: Tokenizer, pad: str, unknown: str, start: str, end: str, mask: str) -> PreTrainedTokenizerFast:
    ids = [(token, inner.token_to_id(token)) for token in (start, end)]
    inner.post_processor = processors.TemplateProcessing(f"{start} $A {end}", f"{start} $A {end} $B {end}", ids)
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token=pad, unk_token=unknown, cls_token=start, sep_token=end, mask_token=mask
    )


def settings_of(family: str, tokenizer: PreTrainedTokenizerFast, **settings: Any) -> dict[str, Any]:
    """All sizes different; more rows in the embedding table than there are tokens."""
    family = "roberta" if family == "xlm-roberta" else family
    common = {
        "vocab_size": len(tokenizer) + 5,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": None,
        "eos_token_id": None,
    }
    sizes = {"hidden_size": 24, "intermediate_size": 20, "num_hidden_layers": 5, "num_attention_heads": 3}
    own: dict[str, dict[str, Any]] = {
        "bert": sizes | {"max_position_embeddings": 40, "layer_norm_eps": 1e-3},
        "roberta": sizes | {"max_position_embeddings": 42, "layer_norm_eps": 1e-4},
        "distilbert": {"dim": 24, "hidden_dim": 20, "n_layers": 5, "n_heads": 3, "max_position_embeddings": 40},
        "modernbert": sizes
        | {"max_position_embeddings": 64, "local_attention": 8, "cls_token_id": None, "sep_token_id": None}
        | {"rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 5000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 300.0},
        }},
        "eurobert": sizes
        | {"max_position_embeddings": 64, "rms_norm_eps": 1e-3, "classifier_pooling": "mean", "mask_token_id": 0}
        | {"rope_parameters": {"rope_type": "default", "rope_theta": 5000.0}},
    }  # fmt: skip
    return common | own[family] | settings


def build(family: str, task: str = "ForSequenceClassification", **settings: Any) -> Any:
    """A model of the library whose weights, biases and norms are all drawn anew."""
    tokenizer = tokenizer_of(family)
    torch.manual_seed(11)
    config = getattr(transformers, f"{_CLASSES[family]}Config")(**settings_of(family, tokenizer, **settings))
    model = getattr(transformers, f"{_CLASSES[family]}{task}")(config)
    tied = model.get_output_embeddings() is not None
    model = randomise(model, std=0.3).eval()
    if tied:
        model.tie_weights()
    return model


def write_checkpoint(
    folder: Path,
    family: str,
    task: str = "ForSequenceClassification",
    *,
    labels: Sequence[str] = ("LABEL_0", "LABEL_1", "LABEL_2"),
    **settings: Any,
) -> Any:
    """Save model and tokenizer as the library does, and return the model."""
    model = build(family, task, id2label=dict(enumerate(labels)), **settings)
    model.save_pretrained(folder)
    tokenizer_of(family).save_pretrained(folder)
    return model


def describe_encoder(
    folder: Path,
    *parts: tuple[str, dict[str, Any]],
    window: int | None = None,
    prompt: str | None = None,
    lowercase: bool = False,
) -> None:
    """Write beside a checkpoint what makes it an encoder of sentence-transformers, as that library does.

    Args:
        parts: the kind of each part after the transformer, and its settings.
    """
    kinds = [("Transformer", ""), *((kind, f"{number}_{kind}") for number, (kind, _) in enumerate(parts, 1))]
    named = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (kind, path) in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(named))
    for (_, path), (_, settings) in zip(kinds[1:], parts, strict=True):
        (folder / path).mkdir()
        (folder / path / "config.json").write_text(json.dumps(settings))
    reads = {"do_lower_case": lowercase} | ({} if window is None else {"max_seq_length": window})
    (folder / "sentence_bert_config.json").write_text(json.dumps(reads))
    prompts = {"prompts": {"p": prompt}, "default_prompt_name": "p"} if prompt else {}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
