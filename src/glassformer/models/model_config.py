"""The settings of classifiers and language models, and the presets."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

# The largest values of settings. Larger ones are typing errors, and are refused before anything is built.
WIDEST = 131_072
Width = Annotated[int, Field(ge=1, le=WIDEST)]
"""Width of vectors and matrices, or number of heads. PaLM, the widest published model, has the width 18,432, and 73,728
inside a block."""
MOST_BLOCKS = 1_000
Depth = Annotated[int, Field(ge=0, le=MOST_BLOCKS)]
"""Number of blocks. Each is a Python object, and they run one after another."""
Window = Annotated[int, Field(ge=2, le=2**20)]
"""Length of the window in tokens. Tables of positions are this long, and attention compares every pair of tokens."""
VocabSize = Annotated[int, Field(ge=4, le=2**22)]
"""Number of tokens, up to four times the vocabulary of XLM-V (100 languages). The library that learns the vocabulary
reserves memory for each token."""
HUB = "hf:"
"""How the name of a checkpoint of another library begins."""
OWN_BODY = "own"
"""The body that a run learns from its own texts alone."""
MOST = 10**9
Count = Annotated[int, Field(ge=1, le=MOST)]
"""Number of steps, epochs, texts or tokens. A billion of them take years."""
SEEDS = 2**32
Seed = Annotated[int, Field(ge=0, lt=SEEDS)]
"""scikit-learn splits the rows and accepts seeds of 32 bits."""
LearningRate = Annotated[float, Field(gt=0, le=1_000)]
"""No published learning rate is above 100."""


def how_many(number: int, noun: str) -> str:
    """Return a number with its noun: "1 head", "4 heads"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


class DesignConfig(BaseModel):
    """The settings that every design has. Vocabulary and classes come from the data and are not settings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    one_label_only: ClassVar[bool] = False
    """Whether the design supports only one label per text."""

    max_seq_len: Window
    """The window: how many tokens are read at once, including the start token. Longer texts are read in overlapping
    windows. Memory and time of attention grow with its square."""

    @property
    def of_one_text(self) -> DesignConfig:
        """The settings of the same model for rows of one text."""
        return self

    @property
    def beside(self) -> tuple[str, ...]:
        """The names of the readers beside the transformer."""
        return ()

    def in_words(self) -> str:
        """Describe the sizes of the model in words."""
        raise NotImplementedError


def check_heads(config: DesignConfig, width: str = "d_model", heads: str = "n_heads") -> None:
    """Check that the heads divide the width of the model evenly.

    Raises:
        ValueError: they do not. The message names both settings.
    """
    wide, n_heads = getattr(config, width), getattr(config, heads)
    if wide % n_heads:
        raise ValueError(f"{width} must be a multiple of {heads}, got {width}={wide}, {heads}={n_heads}")


class TrunkConfig(DesignConfig):
    """The settings of `Trunk`, which our own models share."""

    d_model: Width = 128
    """Width of a token's vector, a multiple of `n_heads`. Raise it for large data; lower it for speed."""
    n_layers: Depth = 2
    """Number of blocks."""
    n_heads: Width = 4
    """Attention heads in each block."""
    d_ff: Width = 256
    """Inner width of the feed-forward layers."""
    max_seq_len: Window = 512
    embedding: Literal["learned", "one-hot"] = "learned"
    """How a token id becomes a vector: by a learned table, or as a one at the place of the id."""
    positions: Literal["none", "sinusoidal", "learned", "rotary", "rotary-on-embeddings"] = "rotary"
    """How the model knows the order of tokens. `rotary` rotates queries and keys in each block, `rotary-on-embeddings`
    rotates the embeddings. With `none` it does not know the order."""
    attention: Literal["full", "causal"] = "full"
    """Which tokens a token attends to: all, or (`causal`) only itself and those before it."""
    norm: Literal["layer", "rms", "batch", "none"] = "rms"
    """Normalisation in each block."""
    residual: Literal["pre-norm", "post-norm"] = "pre-norm"
    """Where a block normalises: before attention and feed-forward, or after they are added to their input."""
    feed_forward: Literal["linear", "relu", "gelu", "glu", "swiglu", "geglu"] = "geglu"
    """Activation of the feed-forward layers. The names with `glu` are gated: they have a third matrix."""
    dropout: float = Field(default=0.3, ge=0, lt=1)
    """Share of values set to 0 in training, from 0 to below 1: after the embedding, after each attention and
    feed-forward, and before the head. Raise it against overfitting."""
    attention_dropout: float = Field(default=0.0, ge=0, lt=1)
    """Share of attention weights set to 0 in training, from 0 to below 1."""

    @model_validator(mode="after")
    def _fields_agree(self) -> TrunkConfig:
        check_heads(self)
        rotated = {"rotary": self.d_model // self.n_heads, "rotary-on-embeddings": self.d_model}
        if rotated.get(self.positions, 0) % 2:
            raise ValueError(
                f"positions={self.positions!r} rotates pairs of features and needs an even width, "
                f"got d_model={self.d_model}, n_heads={self.n_heads}"
            )
        return self

    def in_words(self) -> str:
        return f"{how_many(self.n_layers, 'block')} of width {self.d_model}, {how_many(self.n_heads, 'head')}"


class ModelConfig(TrunkConfig):
    """The settings of our own classifier, `Classifier`."""

    design: Literal["classifier"] = "classifier"
    pooling: Literal["first", "last", "mean", "max", "attention", "flatten"] = "mean"
    """How the vectors of the tokens become one vector of the text (see `layers/pooling.py`)."""
    head: Literal["classes", "ordered"] = "classes"
    """How the vector of the text becomes logits: `classes` by a score for each class, `ordered` by one score and a
    threshold between neighbouring classes (see `layers/heads.py`). `ordered` is for ordered classes alone, and gained
    nothing where it was measured (see docs/how-it-works/targets.md)."""
    counting: Literal["auto", "tfidf", "nb", "none"] = "none"
    """The counting reader beside the transformer: logistic regression on n-grams, weighted by `tfidf`, or by naive
    Bayes (`nb`), or on both (`auto`). With `none` there is none."""
    body: str = "none"
    """The body reader beside the transformer: a linear model of the mean of the vectors of words. `english`, or a
    folder that `glassformer embeddings` wrote; their vectors are continued on unlabelled texts, if there are some.
    `own`: vectors of the run's own texts alone, in any language. `hf:FOLDER` reads with a pre-trained encoder in its
    place. `auto` is `english` beside a counting reader, if it knows the words of the texts. With `none` there is
    none."""
    readers: tuple[str, ...] = Field(default=(), exclude_if=lambda names: not names)
    """Readers of other packages that read beside these (see docs/how-to/add-a-reader.md)."""

    rules: str = Field(default="none", exclude_if=lambda file: file == "none")
    """A file of rules: phrases and patterns that decide or weigh (see docs/how-to/rules.md). With `none` there are
    none."""

    @property
    def beside(self) -> tuple[str, ...]:
        body = "none" if self.body == "auto" and self.counting == "none" else self.body
        own = {"counting": self.counting, "encoder" if body.startswith(HUB) else "body": body}
        rules = () if self.rules == "none" else ("rules",)
        return (*(name for name, kind in own.items() if kind != "none"), *self.readers, *rules)


class SeveralTextsConfig(ModelConfig):
    """The settings of `Classifier` for rows of several texts. Training makes them of a `ModelConfig`."""

    design: Literal["several-texts"] = "several-texts"  # type: ignore[assignment] # a design of its own
    texts: int = Field(ge=2)
    """How many texts a row has."""
    separator: int | None = Field(default=None, ge=0, exclude_if=lambda separator: separator is None)
    """The token between two texts. None: the last one of the vocabulary. After it stand words that were learned."""

    @property
    def of_one_text(self) -> ModelConfig:
        return ModelConfig(**self.model_dump(exclude={"design", "texts", "separator"}))

    @model_validator(mode="after")
    def _learns_embeddings(self) -> SeveralTextsConfig:
        if self.embedding == "one-hot":
            raise ValueError("embedding='one-hot' has no room for the texts that words are of; choose 'learned'")
        return self


class LanguageModelConfig(TrunkConfig):
    """The settings of our own language model, `LanguageModel`.

    With causal attention it predicts the next token. With full attention it fills in masked tokens.
    """

    design: Literal["language-model"] = "language-model"
    attention: Literal["full", "causal"] = "causal"
    feed_forward: Literal["linear", "relu", "gelu", "glu", "swiglu", "geglu"] = "swiglu"
    max_seq_len: Window = 256
    dropout: float = Field(default=0.0, ge=0, lt=1)

    @property
    def causal(self) -> bool:
        """Whether the model predicts the next token."""
        return self.attention == "causal"

    @classmethod
    def like(cls, config: DesignConfig) -> LanguageModelConfig:
        """Return the language model whose trunk has the shape of a classifier, and no dropout.

        Raises:
            ValueError: no language model has this shape.
        """
        if not isinstance(config, ModelConfig):
            raise ValueError("pre-training needs our own design, `classifier`")
        shape = config.model_dump(include=set(TrunkConfig.model_fields) - {"dropout", "attention_dropout"})
        try:
            return cls.model_validate(shape)
        except ValidationError as error:
            raise ValueError(f"pre-training: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from error

    @model_validator(mode="after")
    def _predicts(self) -> LanguageModelConfig:
        if self.norm == "batch":
            raise ValueError("norm='batch' would let a token see the tokens after it; choose 'rms' or 'layer'")
        if self.embedding == "one-hot":
            raise ValueError("embedding='one-hot' has no vectors to predict with; choose 'learned'")
        return self


PRESETS: dict[str, ModelConfig] = {
    "tiny": ModelConfig(d_model=64, n_layers=1, n_heads=2, d_ff=128, max_seq_len=256, counting="auto", body="auto"),
    "small": ModelConfig(counting="auto", body="auto"),
    "base": ModelConfig(d_model=256, n_layers=4, n_heads=8, d_ff=512, counting="auto", body="auto"),
}

LANGUAGE_PRESETS: dict[str, LanguageModelConfig] = {
    "tiny": LanguageModelConfig(d_model=64, n_layers=2, n_heads=2, d_ff=128, max_seq_len=128),
    "small": LanguageModelConfig(n_layers=4),
    "base": LanguageModelConfig(d_model=256, n_layers=4, n_heads=8, d_ff=512),
}
