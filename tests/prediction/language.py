"""Language models that need no training: random ones, and one that recites."""

from typing import Any

import torch
from torch import Tensor, nn

from glassformer.data.tokenizers import START_ID, TextTokenizer, TokenizerConfig
from glassformer.layers.slots import AttentionMask, Positions
from glassformer.models.build import AnyLanguageModelConfig, build_language_model
from glassformer.models.language_model import LanguageModel, TokenPredictor
from glassformer.models.model_config import LanguageModelConfig
from glassformer.prediction.folder_config import LanguageFolderConfig
from glassformer.prediction.model_folder import TrainedLanguageModel
from tests.support import double_precision, randomise

TEXT = "the cat sat on the mat, and the dog slept by the door"
BYTES = TokenizerConfig(kind="byte", lowercase=False, normalization="none")
SMALL = LanguageModelConfig(d_model=16, n_layers=1, n_heads=2, d_ff=24, max_seq_len=24)


def random_model(vocab_size: int, **values: Any) -> LanguageModel:
    """In float64, with no weight at its starting value."""
    sizes: dict[str, Any] = {"d_model": 12, "n_layers": 2, "n_heads": 3, "d_ff": 10, "max_seq_len": 9}
    with double_precision():
        model = LanguageModel(LanguageModelConfig.model_validate(sizes | values), vocab_size)
        return randomise(model, std=1.0).eval()


def byte_tokenizer() -> TextTokenizer:
    return TextTokenizer.train([], BYTES)


def trained_language_model(
    *, model: AnyLanguageModelConfig = SMALL, tokenizer: TokenizerConfig = BYTES, seed: int = 1
) -> TrainedLanguageModel:
    """Random weights, as a run would leave them."""
    torch.manual_seed(seed)
    learned = TextTokenizer.train([TEXT], tokenizer)
    config = LanguageFolderConfig(
        model=model,
        vocab_size=learned.vocab_size,
        tokenizer=tokenizer,
        data={"source": "notes.txt"},
        recipe={},
        versions={"glassformer": "0"},
        created="2026-01-02T03:04:05+00:00",
        training_seconds=1.5,
    )
    built = randomise(build_language_model(model, learned.vocab_size)).eval()
    return TrainedLanguageModel(config=config, model=built, tokenizer=learned, metrics={"best_epoch": 3})


class Recites(TokenPredictor):
    """Knows one text by heart: at each place it says the token that follows there, and then ends."""

    def __init__(self, token_ids: list[int], vocab_size: int) -> None:
        super().__init__()
        logits = torch.ones(len(token_ids) + 1, vocab_size)
        logits[torch.arange(len(logits)), torch.tensor([*token_ids, START_ID])] = 99.0
        self.table = nn.Parameter(logits)

    def read(
        self,
        token_ids: Tensor,
        attention_mask: AttentionMask,  # noqa: ARG002
        *,
        positions: Positions = None,  # noqa: ARG002
        caches: Any = None,  # noqa: ARG002
    ) -> Tensor:
        return torch.arange(token_ids.shape[1]).expand(token_ids.shape)[..., None]

    def logits(self, hidden: Tensor) -> Tensor:
        return self.table[hidden[..., 0]]

    def new_caches(self, batch: int, max_seq_len: int) -> list[Any]:  # noqa: ARG002
        return []
