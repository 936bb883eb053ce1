"""The tasks of a language model: predict the next token, fill in hidden tokens, or find those that were filled in."""

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Int
from torch import Tensor, nn

from glassformer.data.arrays import BoolArray, IntArray
from glassformer.data.batches import ModelInputs
from glassformer.data.store import TokenStore
from glassformer.data.tokenizers import PAD_ID, START_ID, UNKNOWN_ID
from glassformer.data.windows import Excerpt, PackedStream, excerpts
from glassformer.errors import GlassformerError, UsageError
from glassformer.layers.masks import documents_to_mask
from glassformer.models.language_model import TokenPredictor
from glassformer.models.replaced_tokens import ReplacedTokens
from glassformer.training.order import several_passes
from glassformer.training.task import Cost, Examples
from glassformer.training.training_config import PretrainingConfig

IGNORED = -100
"""The label of a position that does not count in the loss."""
_VALIDATION_TOKENS = 8192  # in a batch
_LABELS_AT_ONCE = 64
_LEAST_WEIGHT = float(np.finfo(np.float32).tiny)  # too small to change any sum, but 0 can be divided by it


class LanguageModelling:
    """Packed documents, in a new order in each epoch.

    Args:
        validation: held-out documents. Each token is predicted with at least half a window before it.
        validation_bytes: the length of those documents in UTF-8, for bits per byte. 0 if bits per byte make no sense.
        begins_word: (vocab,) which tokens begin a word. Needed only with `config.whole_words`.

    Raises:
        UsageError: the text does not fill a window, or it has only unknown words and so nothing to hide.
    """

    unit = "tokens"

    def __init__(
        self,
        train: TokenStore,
        config: PretrainingConfig,
        *,
        window: int,
        causal: bool,
        validation: TokenStore | None = None,
        validation_bytes: int = 0,
        begins_word: BoolArray | None = None,
    ) -> None:
        self.train, self.config, self.window, self.causal = train, config, window, causal
        self.validation, self.validation_bytes = validation, validation_bytes
        self.begins_word = begins_word if config.whole_words else None
        self._cost = _compiled_cost() if config.compile else token_cost
        tokens = int(train.lengths.sum()) + len(train)
        if not len(self._stream(0)):
            raise UsageError(
                f"{tokens:,} tokens do not fill one window of {window:,}; choose a smaller one "
                f"(`model.max_seq_len={max(2, tokens // 4)}`), or more text"
            )
        for store in (train, validation):
            if not (causal or store is None or (store.tokens > START_ID).any()):
                which = "training texts" if store is train else "held-out texts"
                raise UsageError(
                    f"all words of the {which} are unknown, so none can be hidden; choose a vocabulary that "
                    "spells any text (`tokenizer.kind='bpe'`), or more text"
                )

    def steps(self, epoch: int) -> Sequence[Callable[[], list[Examples]]]:
        at_most = self.config.max_steps_per_epoch
        if at_most is None or at_most >= len(self._pass(0)):
            return several_passes(self._pass, epoch, at_least=self.config.min_steps_per_epoch)
        number, first = divmod(epoch * at_most, len(self._pass(0)))
        return [*self._pass(number)[first : first + at_most], *self._pass(number + 1)][:at_most]

    def _pass(self, number: int) -> list[Callable[[], list[Examples]]]:
        size = self.config.batch_size * self.config.accumulation
        stream = self._stream(number)
        order = self._random(number, 1).permutation(len(stream))
        return [partial(self._assemble, stream, number, order[i : i + size]) for i in range(0, len(order), size)]

    def _stream(self, number: int) -> PackedStream:
        return PackedStream(self.train, self._random(number, 0).permutation(len(self.train)), self.window)

    def _random(self, *numbers: int) -> np.random.Generator:
        return np.random.default_rng([self.config.seed, *numbers])

    def _assemble(self, stream: PackedStream, number: int, chosen: IntArray) -> list[Examples]:
        size = self.config.batch_size
        return [self._batch(stream, number, chosen[i : i + size].tolist()) for i in range(0, len(chosen), size)]

    def _batch(self, stream: PackedStream, number: int, chosen: list[int]) -> Examples:
        """Return whole windows. What is hidden depends on seed, pass and window, not on how windows are grouped."""
        tokens = np.stack([stream.window(window) for window in chosen])  # (batch, window + 1)
        read, labels = tokens[:, :-1], tokens[:, 1:]
        if not self.causal:
            hidden = np.stack([self._hide(row, number, 2, window) for row, window in zip(read, chosen, strict=True)])
            read, labels = np.where(hidden, UNKNOWN_ID, read), np.where(hidden, read, IGNORED)
        return Examples(
            ModelInputs(torch.from_numpy(read), torch.ones(read.shape, dtype=torch.bool)), torch.from_numpy(labels)
        )

    def _hide(self, tokens: IntArray, *numbers: int) -> BoolArray:
        """Choose the tokens of a window or text to hide: one by one, or word by word (Devlin et al. 2019, §3.1).

        Only ordinary tokens are hidden, never special or unknown ones. If there are any, at least one is hidden.

        Args:
            numbers: the numbers of the window or text. Together with the seed they decide the choice.
        """
        ordinary, words = tokens > START_ID, np.arange(len(tokens))
        if self.begins_word is not None:
            words = np.cumsum(self.begins_word[tokens] | ~ordinary)
        draws = self._random(*numbers).random(len(tokens) + 1)[words]
        lowest = draws[ordinary].min(initial=1.0)
        return ordinary & ((draws < self.config.hidden_share) | (draws == lowest))

    def weight(self, examples: Examples) -> float:
        return max(_LEAST_WEIGHT, count_tokens(examples))  # if all words are unknown, nothing is hidden

    def count(self, examples: Examples) -> int:
        return examples.inputs.token_ids.numel()

    def cost(self, model: nn.Module, examples: Examples) -> Cost:
        return Cost(self._cost(model, examples))

    def validate(self, model: nn.Module) -> dict[str, float]:
        if self.validation is None:
            return {}
        loss, count = measure_tokens(model, self._held_out(self.validation))
        found = {"validation_loss": loss / count}
        if self.causal and self.validation_bytes:
            found["validation_bits_per_byte"] = loss / math.log(2) / self.validation_bytes
        return found

    def _held_out(self, store: TokenStore) -> list[Examples]:
        """Return held-out texts in pieces, grouped by length. Every token counts in exactly one piece."""
        shown = store if self.causal else self._with_gaps(store)
        pieces = list(zip(excerpts(store, self.window), excerpts(shown, self.window), strict=True))
        pieces.sort(key=lambda both: len(both[0].tokens))
        size = max(1, _VALIDATION_TOKENS // self.window)
        return [self._padded(pieces[i : i + size]) for i in range(0, len(pieces), size)]

    def _with_gaps(self, store: TokenStore) -> TokenStore:
        """Return held-out texts with tokens hidden to be filled in. Only seed and text decide which ones."""
        tokens = np.array(store.tokens)
        for text, (first, last) in enumerate(pairwise(store.offsets)):
            tokens[first:last][self._hide(tokens[first:last], 0, 3, text)] = UNKNOWN_ID
        return TokenStore(tokens, store.offsets)

    def _padded(self, pieces: list[tuple[Excerpt, Excerpt]]) -> Examples:
        """Pieces as they are, each with itself as it is shown."""
        shape = len(pieces), max(len(excerpt.tokens) for excerpt, _ in pieces) - 1
        read, labels = np.full(shape, PAD_ID, dtype=np.int64), np.full(shape, IGNORED, dtype=np.int64)
        mask = np.zeros(shape, dtype=np.bool_)
        for row, (one, shown) in enumerate(pieces):
            length = len(one.tokens) - 1
            read[row, :length], mask[row, :length] = shown.tokens[:-1], True
            asked = one.tokens[1:] if self.causal else np.where(one.tokens == shown.tokens, IGNORED, one.tokens)[:-1]
            labels[row, one.fresh : length] = asked[one.fresh :]
        return Examples(ModelInputs(torch.from_numpy(read), torch.from_numpy(mask)), torch.from_numpy(labels))


def _compiled_cost() -> Callable[[nn.Module, Examples], Tensor]:
    compiled = torch.compile(token_cost)
    from torch._dynamo.exc import BackendCompilerFailed  # slow to import, as the line above is

    def cost(model: nn.Module, examples: Examples) -> Tensor:
        try:
            return compiled(model, examples)
        except BackendCompilerFailed as error:
            raise GlassformerError(
                f"training.compile: the step could not be compiled ({str(error).splitlines()[0]}); install a C++ "
                "compiler (g++) or a newer PyTorch, or leave training.compile out"
            ) from error

    return cost


def documents_and_places(
    token_ids: Int[Tensor, "batch seq"],
) -> tuple[Int[Tensor, "batch seq"], Int[Tensor, "batch seq"]]:
    """Return the number of each token's document in its row, and its position in it. Start tokens begin documents."""
    begins = token_ids == START_ID
    everywhere = torch.arange(token_ids.shape[1], device=token_ids.device)
    return begins.cumsum(dim=1), everywhere - (everywhere * begins).cummax(dim=1).values


def mask_and_places(
    token_ids: Int[Tensor, "batch seq"], attention_mask: Bool[Tensor, "batch seq"]
) -> tuple[Bool[Tensor, "batch seq seq"], Int[Tensor, "batch seq"]]:
    """Return the mask by which a token attends to its own document, and the position of each token in its document."""
    documents, places = documents_and_places(token_ids)
    documents = documents.masked_fill(~attention_mask, -1)  # padding attends to padding, as it must attend to something
    return documents_to_mask(documents), places


def token_cost(model: nn.Module, examples: Examples) -> Tensor:
    """Return the summed cross entropy of all labels that count, in nats."""
    token_ids, attention_mask = examples.inputs
    within, places = mask_and_places(token_ids, attention_mask)
    predicts = cast(TokenPredictor, model)
    hidden = predicts.read(token_ids, within, positions=places)
    labels = examples.labels.flatten()
    chosen = (labels != IGNORED).nonzero().squeeze(1)
    # A multiple of the same number each time: buffers of a new size in each step would fill the memory with gaps.
    spare = chosen.new_zeros(-len(chosen) % _LABELS_AT_ONCE)
    asked = torch.cat([labels[chosen], torch.full_like(spare, IGNORED)])
    logits = predicts.logits(hidden.flatten(0, 1)[torch.cat([chosen, spare])])
    return F.cross_entropy(logits.float(), asked, ignore_index=IGNORED, reduction="sum")


def count_tokens(examples: Examples) -> float:
    """Return the number of labels that count."""
    return float((examples.labels != IGNORED).sum())


@torch.inference_mode()
def measure_tokens(model: nn.Module, batches: Iterable[Examples]) -> tuple[float, float]:
    """Return the summed cross entropy of all labels that count, in nats, without dropout, and their number."""
    was_training = model.training
    model.eval()
    device = next(model.parameters()).device
    loss, count = 0.0, 0.0
    for examples in batches:
        loss += float(token_cost(model, examples.to(device)))
        count += count_tokens(examples)
    model.train(was_training)
    return loss, count


_DETECTION = 50.0  # weight of the detector's loss beside the generator's (Clark et al. 2020, §2)


class FindingReplacedTokens(LanguageModelling):
    """Packed documents with gaps that a generator fills. The loss is the generator's and 50 times the detector's."""

    def cost(self, model: nn.Module, examples: Examples) -> Cost:
        filled, found, _ = _losses(model, examples)
        return Cost((filled.mean() + _DETECTION * found.mean()) * self.weight(examples))

    @torch.inference_mode()
    def validate(self, model: nn.Module) -> dict[str, float]:
        """Return the losses of detector and generator in nats, for each token and gap, and the share of right answers.

        The generator draws the same tokens each time.
        """
        if self.validation is None:
            return {}
        was_training, device = model.training, next(model.parameters()).device
        model.eval()
        losses: list[list[Tensor]] = [[], [], []]
        with torch.random.fork_rng(devices=[] if device.type == "cpu" else [device]):
            torch.manual_seed(self.config.seed)
            for examples in self._held_out(self.validation):
                for kept, new in zip(losses, _losses(model, examples.to(device)), strict=True):
                    kept.append(new.cpu())
        model.train(was_training)
        filled, found, right = (float(torch.cat(each).mean()) for each in losses)
        return {"validation_loss": found, "validation_generator_loss": filled, "validation_detected": right}


def _losses(model: nn.Module, examples: Examples) -> tuple[Tensor, Tensor, Tensor]:
    """Return the loss of each gap, that of the detector for each token, and whether its answer is right."""
    shown, attention_mask = examples.inputs
    token_ids = torch.where(examples.labels == IGNORED, shown, examples.labels)
    found = cast(ReplacedTokens, model)(token_ids, shown, *mask_and_places(token_ids, attention_mask))
    logits, replaced = found.logits[attention_mask], found.replaced[attention_mask]
    return (
        found.surprise,
        F.binary_cross_entropy_with_logits(logits, replaced.float(), reduction="none"),
        ((logits > 0) == replaced).float(),
    )
