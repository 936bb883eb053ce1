"""Write a classifier as a folder that the library `transformers` loads by itself, without importing that library."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor

from glassformer.data.pretrained_tokenizers import as_pretrained_tokenizer
from glassformer.data.tokenizers import START_ID, TextTokenizer
from glassformer.errors import GlassformerError, UsageError
from glassformer.exporting.onnx import check_readers
from glassformer.layers.masks import lengths_to_mask
from glassformer.models.checkpoints import Checkpoint
from glassformer.models.checkpoints_out import as_encoder, write_config, write_weights
from glassformer.models.families import FAMILIES
from glassformer.models.pretrained import PretrainedEncoder
from glassformer.pages.html import written
from glassformer.prediction.answering_config import TRANSFORMER
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.model_folder import TrainedModel

_WEIGHTS = "model.safetensors"
_LARGEST_DIFFERENCE = 1e-5
_CHECKED_ROWS, _CHECKED_TOKENS = 4, 64


def write_transformers(trained: TrainedModel, folder: Path) -> list[str]:
    """Write config.json, weights, tokenizer and README.md. The softmax of the logits are the calibrated probabilities,
    or the one logit is the number.

    This is the transformer alone, as `transformers` has no other reader.

    Returns:
        Sentences for the user.

    Raises:
        UsageError: the model does not ask its transformer, or no family of `transformers` has its shape.
        GlassformerError: the written files do not give the logits of the model.
        OSError, SafetensorError: the files cannot be written.
    """
    config = trained.config
    if config.inputs is not None:
        raise UsageError(
            f"a pipeline of transformers gives a model one text, and this model reads {config.inputs.in_words}; "
            "`format='onnx'` exports it"
        )
    if config.transformer_is_silent:
        check_readers(trained)  # else ONNX, which is named below, would not be written either
        default = {*config.asked} <= {"counting", "body"} and getattr(config.model, "body", "auto") in ("auto", "none")
        alone = "with `model.counting='none'`" if default else "a transformer alone"
        raise UsageError(
            f"it answers by {config.asked_in_words} alone, and transformers has no such reader; `format='onnx'` "
            f"exports it. Or train {alone}: without all other readers, such a model is usually less accurate"
        )
    scale, shift = config.target.part("exporting").line(trained)
    encoder, weights = as_encoder(config.model, trained.model.state_dict(), config.n_classes)
    for name in ("head.out_projection.weight", "head.out_projection.bias"):
        weights[name] = (weights[name].double() * scale + (shift if name.endswith("bias") else 0)).float()
    tokenizer = as_pretrained_tokenizer(trained.tokenizer, window=encoder.max_seq_len)
    raw = write_config(encoder, tokenizer["tokenizer_config.json"]["cls_token"])
    raw |= _about_tokens(trained, tokenizer["tokenizer_config.json"]) | _about_labels(config)
    for name, content in ({"config.json": raw} | tokenizer).items():
        (folder / name).write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    save_file(write_weights(encoder, raw, weights), folder / _WEIGHTS, metadata={"format": "pt"})
    _check_ids(trained.tokenizer, folder)
    difference = _difference(trained, (scale, shift), raw, folder)
    if not difference <= _LARGEST_DIFFERENCE:
        raise GlassformerError(f"the written files give other logits than the model (by up to {difference:.1g})")
    notes = _notes(config, raw, tokenizer["tokenizer_config.json"]["model_max_length"])
    notes.append(f"The files were read back: the token ids are the same, and the logits to {difference:.0e}.")
    family, (given, answers) = FAMILIES[raw["model_type"]], config.target.part("exporting").in_pipelines(config)
    card = written("exporting/transformers_card", family=family, given=given, answers=answers, notes=notes)
    (folder / "README.md").write_text(card, encoding="utf-8")
    return notes


def _about_tokens(trained: TrainedModel, settings: Mapping[str, Any]) -> dict[str, Any]:
    numbers = trained.tokenizer.vocabulary()
    end = settings.get("sep_token")
    return {
        "vocab_size": trained.config.vocab_size,
        "bos_token_id": None,
        "eos_token_id": None,
        "cls_token_id": START_ID,
        "sep_token_id": None if end is None else numbers[end],
        "dtype": "float32",
    }


def _about_labels(config: FolderConfig) -> dict[str, Any]:
    names = config.target.outputs
    return {
        "id2label": {str(number): name for number, name in enumerate(names)},
        "label2id": {name: number for number, name in enumerate(names)},
        **config.target.part("exporting").about(config),
    }


def _check_ids(tokenizer: TextTokenizer, folder: Path) -> None:
    """Read the tokenizer back, and compare the ids of a text of many tokens."""
    again = Tokenizer.from_file(str(folder / "tokenizer.json"))
    again.encode_special_tokens = True
    text = " ".join(sorted(tokenizer.vocabulary())[:_CHECKED_TOKENS])
    expected = tokenizer.encode([text])[0].tolist()
    if again.encode(text).ids[: len(expected) + 1] != [START_ID, *expected]:
        raise GlassformerError("the written tokenizer gives other token ids than that of the model")


@torch.inference_mode()
def _difference(trained: TrainedModel, line: tuple[float, float], raw: Mapping[str, Any], folder: Path) -> float:
    """Read the files back, and return the largest difference of a logit on random texts, one shorter than the other.

    Large logits are rounded more coarsely, so above 1 the difference is relative.
    """
    config, written = trained.config, Checkpoint(raw, folder.name)
    encoder = written.config
    again = PretrainedEncoder(encoder, config.vocab_size, config.n_classes)
    again.load_state_dict(written.weights(load_file(folder / _WEIGHTS), range(config.vocab_size)))
    ids, mask = _random_texts(config.vocab_size, min(encoder.max_seq_len, _CHECKED_TOKENS))
    expected: Tensor = line[0] * trained.model(ids, mask) + line[1]
    found: Tensor = again.eval()(ids, mask)
    return float(((found - expected).abs() / expected.abs().clamp(min=1)).max())


def _random_texts(vocab_size: int, seq: int) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(vocab_size, (_CHECKED_ROWS, seq), generator=draw)
    ids[:, 0] = START_ID
    lengths = torch.linspace(seq, 1, _CHECKED_ROWS).long()
    mask = lengths_to_mask(lengths, seq)
    return ids * mask, mask


def _notes(config: FolderConfig, raw: Mapping[str, Any], window: int) -> list[str]:
    family = FAMILIES[raw["model_type"]]
    notes = [f"The layout is {family.title}, which transformers {family.since} and newer load."]
    if left_out := [name for name in config.weights if name != TRANSFORMER]:
        readers = f"The {' and the '.join(left_out)} reader{'s are' if len(left_out) > 1 else ' is'} left out"
        notes.append(
            f"{readers}, because transformers has no such part. The folder gives the answers of the transformer alone. "
            "To see what that costs, read its line when you `glassformer evaluate` the model."
        )
    notes.append(
        f"If a text has more than {window:,} tokens, transformers reads only its beginning. glassformer reads all of "
        "it, in several windows."
    )
    return notes
