"""The settings of training (recipe section `[training]`)."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, model_validator

from glassformer.models.model_config import MOST, Count, LearningRate, Seed
from glassformer.targets.costs import CostRows


class LoopConfig(BaseModel):
    """The settings of `Trainer`, which every kind of training has. They have the same names in a recipe.

    Numbers that count something are whole numbers from 1 on, unless a setting says otherwise.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: Seed = 0
    """Seed of all random choices: the validation rows, the initial weights, the order of batches and dropout. From 0
    on. Train with several seeds to see how much a result depends on chance."""
    epochs: Count = 10
    """Most epochs to train. Early stopping may end training sooner (see `patience`). Raise it if the validation loss
    still falls at the end."""
    max_steps: Count | None = None
    """Number of steps to train. `epochs` and `patience` are then ignored, and the schedule covers exactly these steps.
    Set it to compare models on an equal number of steps."""
    max_seconds: float | None = Field(default=None, gt=0, le=1e9)
    """Seconds to train, including validation except for the last one. `epochs` and `patience` are then ignored. The
    result depends on the speed of the machine, so such a run cannot be repeated exactly. Excludes `max_steps`."""
    min_steps_per_epoch: Count = 50
    """Fewest steps in an epoch. If the data gives fewer, an epoch reads all data several times. Patience, counted in
    epochs, then means a similar number of steps for small and large data."""
    patience: Count = 2
    """Epochs to wait for a lower validation loss before training stops. The model keeps the weights of the epoch with
    the lowest validation loss. Raise it if the validation loss goes up and down."""
    batch_size: Count = 64
    """Most examples in a batch: texts for a classifier, windows for a language model, pairs for a reward model. Lower
    it if memory runs out."""
    accumulation: Count = 1
    """Batches per step: their gradients are added up. Raise it for larger steps than memory allows in one batch."""
    optimizer: Literal["adamw", "muon", "sgd"] = "muon"
    """The optimizer. `muon` uses Muon for the matrices inside blocks and AdamW for all other parameters. `adamw` and
    `sgd` update all parameters in the same way."""
    learning_rate: LearningRate = 5e-4
    """Peak of the learning rate, above 0. Lower it if the loss becomes NaN or jumps. Raise it if the loss falls
    slowly."""
    layer_decay: float = Field(default=1.0, gt=0, le=1)
    """Learning rate of a block divided by that of the block above it, above 0 and at most 1. The head has the full
    rate. Set it below 1 in fine-tuning, to change the lower blocks less."""
    freeze: NonNegativeInt | Literal["all"] = 0
    """Number of blocks that are not trained, from the lowest up. The embeddings are then not trained either. 0 trains
    everything, and `all` trains only the head. Set it in fine-tuning on few texts."""
    weight_decay: float = Field(default=0.01, ge=0, le=1_000)
    """Weight decay of matrices, from 0 (none) on. Biases and the scales of norms do not decay. Raise it against
    overfitting."""
    schedule: Literal["cosine", "linear", "constant", "cosine-by-epoch"] = "cosine"
    """How the learning rate changes after warmup. `cosine` and `linear` fall to 0 at the end of training, and
    `constant` stays at the peak. `cosine-by-epoch` changes once per epoch (see `cosine_epochs`)."""
    cosine_epochs: Count = 10
    """Epochs until the rate of the schedule `cosine-by-epoch` has fallen to 0. After that it rises again."""
    warmup: float = Field(default=0.05, ge=0, lt=1)
    """Share of training in which the learning rate rises from 0 to its peak, from 0 (no warmup) to below 1. Raise it if
    training is unstable at the beginning."""
    clip: float = Field(default=1.0, gt=0)
    """Largest norm of all gradients together, above 0. Larger gradients are scaled down to it."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Number format of computations. `auto` takes bfloat16 if the processor supports it, else float32. Weights and
    scores are always float32. Choose `float32` to keep the results of different machines close."""

    @model_validator(mode="after")
    def _one_budget(self) -> Self:
        if self.max_steps is not None and self.max_seconds is not None:
            raise ValueError(
                f"max_steps = {self.max_steps} and max_seconds = {self.max_seconds:g} are two budgets; leave one out"
            )
        return self


class TrainingConfig(LoopConfig):
    """How a classifier is trained (recipe section `[training]`)."""

    epochs: Annotated[int, Field(ge=0, le=MOST)] = 4
    """Most epochs to train. The schedule of the learning rate covers them. Raise it if the calibrated loss still falls
    at the end. With 0 no transformer is trained, and the model answers by its other readers."""
    enough_steps: Count | None = 1_000
    """Steps after which no other epoch begins, so that a large table is trained for fewer epochs, at least one. The
    schedule covers these epochs. None means that there is no such limit. If you set `epochs` and not this, it is None.
    """
    min_steps_per_epoch: Count = 75
    """Fewest steps in an epoch. If the data gives fewer, an epoch reads all data several times, so that small tables
    get enough steps too."""
    patience: Count = 4
    """Epochs to wait for a better epoch (see `best_epoch_by`) before training stops. By default training never stops
    early: the last epochs, with the lowest learning rates, are often the best."""
    best_epoch_by: Literal["calibrated-loss", "loss"] = "calibrated-loss"
    """Which epoch's weights are kept: the one with the lowest validation loss after calibration, or with the lowest
    plain validation loss. Calibration divides the logits by the best temperature, or weighs the readers. Without it,
    a model that becomes too sure of itself seems to get worse while its accuracy still rises. If the transformer
    gets no weight in any epoch, its own loss decides."""
    batch_tokens: Count = 8192
    """Most tokens in a batch, including padding. Only the order `bucketed` uses it. Lower it if memory runs out."""
    order: Literal["bucketed", "shuffled", "as-given"] = "bucketed"
    """Order of the texts. `bucketed` shuffles them in each epoch and puts texts of similar length into one batch, which
    saves padding. `shuffled` ignores the length. `as-given` keeps the order of the table."""
    loss: Literal["cross-entropy", "focal", "bce-on-probabilities"] = "cross-entropy"
    """The loss of the transformer; other readers have fits of their own, which it does not change. `focal` counts texts
    less that are answered rightly already (Lin et al. 2017); it needs one label per text. `bce-on-probabilities` is a
    published mistake, and serves only to reproduce that publication (see `binary_cross_entropy_on_probabilities`)."""
    number_loss: Literal["huber", "squared"] = "huber"
    """The loss if a number is learned. `huber` counts a large error less than `squared` does, so that a few wrong or
    extreme numbers change little."""
    label_smoothing: float = Field(default=0.0, ge=0, lt=1)
    """Probability that is taken from the true class and divided equally among all classes, from 0 (none) to below 1.
    Raise it if the model is too confident or some labels are wrong."""
    class_weights: Literal["none", "balanced"] | dict[str, Annotated[float, Field(gt=0, le=1e30)]] = "none"
    """Weight of each class in the loss. `none` gives every class the weight 1. `balanced` gives rare classes a higher
    weight, inverse to their frequency. A table gives every label its own weight, above 0. Set it if rare classes
    matter."""
    resample: Literal["none", "balanced"] = "none"
    """Which rows the transformer reads in an epoch: all, or with `balanced` equally many of each class, drawn anew in
    each epoch. Rows of rare classes then come repeatedly and some of frequent ones are left out. It needs one label per
    text. Other readers learn each row once. Set this or `class_weights`, as both together count rare classes twice."""
    costs: CostRows = ()
    """What wrong answers cost: a number for each label that may be missed, or a table with the columns truth, answer
    and cost. `review` is the cost of asking a person. Other mistakes cost 1. The answers are then those of the least
    expected cost. What is learned and the probabilities stay the same."""
    token_dropout: float = Field(default=0.1, ge=0, lt=1)
    """Share of the training tokens that are replaced by the unknown token, from 0 (none) to below 1. It reduces
    overfitting, and trains the vector of unknown words."""
    tune_body: Annotated[int, Field(ge=0, le=1_000)] = 0
    """How many pairs with a row of the same label, and as many with another label, are drawn for each row to tune an
    encoder on (`model.body` = `hf:…`), before its vectors are learned. 0 leaves the encoder as it is; SetFit (Tunstall
    et al. 2022) takes 20 for few labels. It takes long: for each fold of the held-out rows the encoder is tuned
    without them, and then on all rows."""
    keep_seen_words: bool = True
    """Whether the model folder keeps a hash of each word and word pair of at least two training texts. By them, answers
    say which texts are unlike the training data. Set it to false if nobody may learn whether a text was in the training
    table: the hashes help to guess it."""

    @model_validator(mode="before")
    @classmethod
    def _all_epochs_that_are_asked_for(cls, given: Any) -> Any:
        return {"enough_steps": None, **given} if isinstance(given, dict) and "epochs" in given else given

    @property
    def without_transformer(self) -> bool:
        return self.epochs == 0 and self.max_steps is None and self.max_seconds is None


class PretrainingConfig(LoopConfig):
    """How a language model is trained (recipe section `[training]`)."""

    epochs: Count = 3
    batch_size: Count = 8
    """Windows in a batch. Raise it on a GPU, which computes larger batches faster."""
    learning_rate: LearningRate = 4e-3
    hidden_share: float = Field(default=0.25, gt=0, lt=1)
    """Share of tokens that are masked and must be predicted, between 0 and 1. Only models with full attention use
    it."""
    whole_words: bool = False
    """Whether all pieces of a word are masked together. Only models with full attention use it."""
    replaced: bool = False
    """Whether the model learns to find the tokens that a smaller model filled into gaps (Clark et al. 2020, ELECTRA),
    in place of filling the gaps itself. Only models with full attention use it."""
    max_steps_per_epoch: Count | None = None
    """Most steps in an epoch. If the data gives more, the next epoch reads on. Set it to measure a long run more often
    than once for each pass over the texts."""
    start_body: str = "none"
    """The body whose vectors the embeddings of words start from: `english`, or a folder that `glassformer embeddings`
    wrote. With `none` they start at random."""
    compile: bool = False
    """Whether the training step is compiled. The first step then takes half a minute or more, and later steps are
    faster. It needs a C++ compiler. Set it for long runs."""
