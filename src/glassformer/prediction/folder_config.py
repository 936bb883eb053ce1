"""The contents of `config.json` and `metrics.json` in a model folder, for each kind of model."""

from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, model_validator

from glassformer.data.inputs import Inputs
from glassformer.data.labels import LabelSet
from glassformer.data.sources import SourceConfig
from glassformer.data.splits import ValidationConfig
from glassformer.data.tokenizers import TokenizerConfig
from glassformer.data.wording import counted
from glassformer.models.build import AnyLanguageModelConfig, AnyModelConfig
from glassformer.models.model_config import LanguageModelConfig
from glassformer.prediction.answering_config import AnsweringConfig
from glassformer.prediction.folder_format import FORMAT_VERSION, FORMATS, LANGUAGE_FORMAT, REWARD_FORMAT
from glassformer.prediction.label_doubts import LabelDoubts, NumberDoubts
from glassformer.targets.labels.held_out import HeldOutAnswers
from glassformer.targets.number.held_out import HeldOutNumbers


class NewWord(BaseModel, frozen=True, extra="forbid"):
    """A word that the model learned after training (`glassformer learn-word`)."""

    word: str
    """The word as the vocabulary spells it."""
    definition: str
    source: str
    """The source of the definition: `given`, or the name of a dictionary."""
    method: Literal["map", "average"]
    """How the embedding was made: by a fitted map from the definition, or as the mean of the embeddings in it."""


class FolderMetrics(BaseModel):
    """The fields of `metrics.json` that glassformer reads."""

    history: list[dict[str, Any]] = []
    """A row for each epoch, or for each round of reinforcement learning."""
    best: dict[str, Any] = {}
    best_epoch: int | None = None


class _Epoch(BaseModel):
    epoch: int
    train_loss: float | None = None
    validation_loss: float | None = None
    train_accuracy: float | None = None
    validation_accuracy: float | None = None


class ClassifierMetrics(FolderMetrics):
    """The same for a model that answers texts. Its report shows every epoch."""

    history: list[_Epoch] = []  # type: ignore[assignment] # rows with named fields
    held_out_answers: HeldOutAnswers | None = None
    """None if no rows were held out."""
    label_doubts: LabelDoubts | None = None
    """None if the labels could not be doubted."""
    held_out: HeldOutNumbers | None = None
    """Of a number. None if no rows were held out."""
    number_doubts: NumberDoubts | None = None
    """None if the numbers could not be doubted."""


class AnyFolderConfig(BaseModel):
    """`config.json`: everything that is needed to rebuild the model, and its origin."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    metrics: ClassVar[type[FolderMetrics]] = FolderMetrics

    format: str
    """The kind of model, a key of `KINDS`."""
    format_version: int = Field(default=FORMAT_VERSION, ge=1)
    model: Any
    vocab_size: int
    tokenizer: TokenizerConfig
    data: dict[str, Any]
    """The training data: source, columns, rows, fingerprint."""
    init: dict[str, str] | None = None
    """The weights that training started from: their name (`from`) and fingerprint. None if it started from scratch."""
    recipe: dict[str, Any]
    versions: dict[str, str]
    created: str
    training_seconds: float
    new_words: tuple[NewWord, ...] = ()
    """The words added after training, in the order of their ids, which are the last of the vocabulary."""

    @model_validator(mode="after")
    def _has_its_words(self) -> Self:
        if len(self.new_words) >= self.vocab_size:
            raise ValueError(f"{len(self.new_words)} new_words do not fit into vocab_size={self.vocab_size}")
        return self


class TrainingRows(BaseModel, frozen=True):
    """The fields of `data` about a classifier's training rows that glassformer reads."""

    source: str = ""
    read_as: SourceConfig | None = None
    """How the table was read; None for rows in memory."""
    text_column: str | None = None
    label_column: str | None = None
    fold_labels: bool = False
    """Whether labels in memory were joined if they differ only by case or white space; of a table see `read_as`."""
    label_columns: tuple[Any, ...] | None = None
    """The labels of the columns, if labels in memory were a matrix of 0 and 1."""
    rows: int = 0
    fingerprint: str = ""
    encoder_doubts: tuple[str, ...] = ()
    """Why the encoder may know nothing of them, each in a sentence."""


class AlignedRecords(BaseModel, frozen=True):
    """The fields of `data` about the records of an aligned language model that glassformer reads."""

    source: str = ""
    fingerprint: str = ""


class RememberedRecords(BaseModel, frozen=True):
    """The statements about records in the `config.json` of a language model, with checked types."""

    data: AlignedRecords


class _Seed(BaseModel):
    seed: int = 0


class TrainingChoices(BaseModel, frozen=True):
    """The fields of `recipe` that decide how the training rows were chosen."""

    training: _Seed = _Seed()
    validation: ValidationConfig = ValidationConfig()


class Remembered(BaseModel, frozen=True):
    """The statements about training rows in the `config.json` of a classifier, with checked types."""

    data: TrainingRows
    recipe: TrainingChoices
    inputs: Inputs | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_the_teacher(cls, told: Any) -> Any:
        """Read the statements about the rows of the teacher, if a teacher gave the labels."""
        data = told.get("data") if isinstance(told, dict) else None
        teacher = data.get("teacher") if isinstance(data, dict) else None
        return teacher["rows"] if isinstance(teacher, dict) and "rows" in teacher else told

    @property
    def read_as(self) -> SourceConfig | None:
        """How the table was read, with the columns that were used; None for rows in memory."""
        return SourceConfig.of_training(self.data.model_dump())

    @property
    def fold_labels(self) -> bool:
        """Whether training joined labels that differ only by case or white space."""
        return self.data.fold_labels or (self.data.read_as is not None and self.data.read_as.fold_labels)


def check_texts(model: BaseModel, inputs: Inputs | None) -> None:
    """Raise `ValueError` if a model reads another number of texts than its inputs have."""
    named, read = 1 if inputs is None else len(inputs.texts), getattr(model, "texts", 1)
    if named != read:
        raise ValueError(f"inputs: a row has {counted(named, 'text')}, and the model reads {read}")


class FolderConfig(AnsweringConfig, AnyFolderConfig):
    """`config.json` of a model that answers texts."""

    metrics = ClassifierMetrics

    formats: ClassVar = FORMATS

    format: str = ""
    """By default that of the target."""
    model: AnyModelConfig

    @model_validator(mode="after")
    def _reads_its_texts(self) -> Self:
        check_texts(self.model, self.inputs)
        return self

    @property
    def remembered(self) -> Remembered:
        """What the config says about its training rows."""
        return Remembered.model_validate({"data": self.data, "recipe": self.recipe, "inputs": self.inputs})

    @property
    def learner(self) -> str:
        """Who learned the labels of the `remembered` rows: a student has its labels from its teacher."""
        return "its teacher" if "teacher" in self.data else "the model"

    @property
    def seed(self) -> int:
        """The seed of the run that made the model."""
        return TrainingChoices.model_validate(self.recipe).training.seed

    @property
    def label_set(self) -> LabelSet:
        return LabelSet(**self.target.as_labels)


class LanguageFolderConfig(AnyFolderConfig):
    """`config.json` of a language model."""

    format: str = LANGUAGE_FORMAT
    model: AnyLanguageModelConfig

    @property
    def records(self) -> AlignedRecords:
        """What the config says about the records that the model was aligned with."""
        return RememberedRecords.model_validate({"data": self.data}).data


class RewardScale(BaseModel, frozen=True, extra="forbid"):
    """How the raw rewards of the members become one reward."""

    means: tuple[float, ...] = Field(min_length=1)
    """The mean raw reward that each member gives to answers of the start model."""
    deviations: tuple[PositiveFloat, ...]
    """The standard deviation of these rewards. One of it is the unit of the reward."""
    disagreement: float = Field(ge=0)
    """Reward subtracted for each unit of the members' standard deviation."""

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if len(self.means) != len(self.deviations):
            raise ValueError(f"there are {len(self.means)} means and {len(self.deviations)} deviations")
        return self


class RewardFolderConfig(AnyFolderConfig):
    """`config.json` of a reward model."""

    format: str = REWARD_FORMAT
    model: LanguageModelConfig
    scale: RewardScale
