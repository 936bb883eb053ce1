"""Models with words enough for a map, and dictionaries for them: a table, and WordNet's files with a few words."""

import random
from collections.abc import Mapping
from pathlib import Path

import torch

from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.models.classifier import Classifier
from glassformer.models.language_model import LanguageModel
from glassformer.models.model_config import LanguageModelConfig, ModelConfig
from glassformer.prediction.folder_config import FolderConfig, LanguageFolderConfig
from glassformer.prediction.model_folder import TrainedLanguageModel, TrainedModel
from glassformer.targets.labels.target import labels_target
from tests.support import randomise

SHAPE = ModelConfig(d_model=12, n_layers=1, n_heads=2, d_ff=20, max_seq_len=16)
CAUSAL = LanguageModelConfig(d_model=14, n_layers=2, n_heads=1, d_ff=18, max_seq_len=61)
MASKED = CAUSAL.model_copy(update={"attention": "full"})
LETTERS = "abcdefghij"
KNOWN = [first + second + "o" for first in LETTERS for second in LETTERS[:7]]
"""Seventy words that a model of the kind `word` knows."""


class Definitions(dict[str, str]):
    """A dictionary of a few words."""

    name = "a test"

    def define(self, word: str) -> str | None:
        return self.get(word.lower())


def definitions_of_known(seed: int = 5) -> Definitions:
    draw = random.Random(seed)
    return Definitions({word: " ".join(draw.sample(KNOWN, draw.randint(2, 5))) for word in KNOWN})


def tokenizer_of_known(kind: str) -> tuple[TokenizerConfig, TextTokenizer]:
    config = TokenizerConfig.model_validate({"kind": kind, "min_frequency": 1, "vocab_size": 420})
    return config, TextTokenizer.train([" ".join(KNOWN[n:] + KNOWN[:n]) for n in range(9)], config)


def trained_on_known(kind: str = "word", *, model: ModelConfig = SHAPE, seed: int = 3) -> TrainedModel:
    torch.manual_seed(seed)
    tokenizer_config, tokenizer = tokenizer_of_known(kind)
    config = FolderConfig(
        model=model,
        vocab_size=tokenizer.vocab_size,
        tokenizer=tokenizer_config,
        target=labels_target(("bad", "good"), temperature=1.25),
        data={
            "source": "reviews.csv", "rows": 9, "validation_rows": 0, "text_column": "text", "label_column": "label",
            "fingerprint": "abc",
        },
        recipe={},
        versions={"glassformer": "0", "torch": "0"},
        created="2026-01-02T03:04:05+00:00",
        training_seconds=1.5,
    )  # fmt: skip
    classifier = randomise(Classifier(model, tokenizer.vocab_size, 2)).eval()
    return TrainedModel(config=config, model=classifier, tokenizer=tokenizer, metrics={})


def language_model_of_known(
    kind: str = "word", *, model: LanguageModelConfig = CAUSAL, seed: int = 4
) -> TrainedLanguageModel:
    torch.manual_seed(seed)
    tokenizer_config, tokenizer = tokenizer_of_known(kind)
    config = LanguageFolderConfig(
        model=model,
        vocab_size=tokenizer.vocab_size,
        tokenizer=tokenizer_config,
        data={"source": "notes.txt", "texts": 9},
        recipe={},
        versions={"glassformer": "0", "torch": "0"},
        created="2026-01-02T03:04:05+00:00",
        training_seconds=2.5,
    )
    predicts = randomise(LanguageModel(model, tokenizer.vocab_size)).eval()
    return TrainedLanguageModel(config=config, model=predicts, tokenizer=tokenizer, metrics={"best_epoch": 2})


Senses = Mapping[str, list[tuple[list[str], str, list[int]]]]
"""For each part of speech its senses as (words, gloss, numbers of similar senses)."""
LICENCE = "  1 This database is written for tests and is nobody's.  \n"


def write_wordnet(folder: Path, senses: Senses) -> Path:
    """WordNet's files."""
    folder.mkdir()
    for part, symbol in {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}.items():
        of_part = senses.get(part, [])
        places, place = [], len(LICENCE)
        for words, gloss, similar in of_part:
            places.append(place)
            place += len(_data_line(0, symbol, words, gloss, [0] * len(similar)))
        data, index = LICENCE, dict[str, list[int]]()
        for own, (words, gloss, similar) in zip(places, of_part, strict=True):
            data += _data_line(own, symbol, words, gloss, [places[number] for number in similar])
            for word in words:
                index.setdefault(word.partition("(")[0].lower(), []).append(own)
        lines = [
            f"{word} {symbol} {len(at)} 2 @ ~ {len(at)} 0 {' '.join(f'{offset:08d}' for offset in at)}  \n"
            for word, at in sorted(index.items())
        ]
        (folder / f"data.{part}").write_text(data)
        (folder / f"index.{part}").write_text(LICENCE + "".join(lines))
    return folder


def _data_line(place: int, symbol: str, words: list[str], gloss: str, similar: list[int]) -> str:
    named = " ".join(f"{word} 0" for word in words)
    pointers = "".join(f"& {offset:08d} a 0000 " for offset in similar)
    return f"{place:08d} 00 {symbol} {len(words):02x} {named} {len(similar):03d} {pointers}| {gloss}  \n"
