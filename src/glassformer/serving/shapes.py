"""What requests and answers hold, with the examples of the OpenAPI description."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from glassformer.data.encodings import half_of_pair
from glassformer.errors import brief

Label = str | int | float | bool


def _text_or_row(given: Any) -> Any:
    """Refuse anything else in a sentence. The error of a union would name its types."""
    plain = (str, int, float, bool, type(None))
    if isinstance(given, str):
        return given
    if isinstance(given, dict) and all(isinstance(each, plain) for each in given.values()):
        for each in filter(lambda each: isinstance(each, str), (*given, *given.values())):
            _whole(each)
        return given
    raise PydanticCustomError("no_text", "Input should be a valid string, or an object with a value for each input")


def _whole(name: str) -> str:
    if half_of_pair(name) is not None:
        raise PydanticCustomError("half_of_pair", "It holds half of a surrogate pair, which is not a character")
    return name


Name = Annotated[str, AfterValidator(_whole)]
"""A string that is written or sent back as it is."""
Text = Annotated[str | dict[str, str | int | float | bool | None], BeforeValidator(_text_or_row)]
"""A text; or for a model that reads several inputs a row with a value for each."""
_ONLY_WITH_SEVERAL = Field(
    default=None,
    exclude_if=lambda given: given is None,
    description="The text that the word is in, or the column whose value it is. Only with several inputs.",
)
MODEL = "The name of the model, if there are several. Default: the first one."


def with_examples(*examples: Any) -> ConfigDict:
    """Return the settings of a body that the description of the API shows with these examples."""
    return ConfigDict(json_schema_extra={"examples": list(examples)})


class BodyOfRequest(BaseModel):
    """The body of a request. A key that it does not have is refused with those that it has."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _check_keys(cls, body: Any) -> Any:
        unknown = [key for key in body if key not in cls.model_fields] if isinstance(body, dict) else []
        if unknown:
            reason = f"`{brief(str(unknown[0]))}` is no key of this request; its keys are {', '.join(cls.model_fields)}"
            raise PydanticCustomError("unknown_key", "{reason}", {"reason": reason})
        return body


class PredictRequest(BodyOfRequest):
    """One text or several."""

    model_config = with_examples({"text": "not at all bad"}, {"texts": ["not at all bad", "a dull film"]})

    text: Text | None = Field(
        default=None, description="One text. For a model that reads several inputs, an object with a value for each."
    )
    texts: list[Text] | None = Field(default=None, fail_fast=True, description="Several texts, in place of `text`.")
    model: str | None = Field(default=None, description=MODEL)
    review_below: float | None = Field(
        default=None, ge=0, le=1, description="Answers with a lower confidence get `needs_review: true`."
    )
    explain: bool = Field(default=False, description="Also say what each word adds to the answer, for a few texts.")


class Reading(BaseModel):
    """How the transformer read a text."""

    tokens: int
    windows: int = Field(description="A text that is longer than a window is read in several.")
    note: str | None = Field(description="A sentence, if the text was not read whole in one window.")
    unknown_words: list[str] = Field(description="Words that training never saw.")
    more_unknown_words: int = Field(description="How many more there are.")


class TextWord(BaseModel):
    """A word of the text: the characters (code points) from `start` to `end`."""

    word: str
    start: int
    end: int


class Share(TextWord):
    """What a word adds to the margin: by each reader, and in all. Of a number, in its unit; otherwise in logits."""

    model_config = ConfigDict(extra="allow")

    counting: float
    transformer: float
    total: float
    effect: float | None = Field(default=None, description="Of a number: the same as `total`, rounded.")
    readers: dict[str, float] | None = Field(
        default=None, description="Of a number: the share by each reader, rounded."
    )
    input: str | None = _ONLY_WITH_SEVERAL


class NearText(BaseModel):
    """A training text. With several labels per text, `label` is a list."""

    row: int = Field(description="The number of its row in the training table, from 1.")
    label: Label | list[Label]
    text: str
    similarity: float = Field(description="The cosine of its vector with that of the given text.")


class Nearest(BaseModel):
    """The training texts nearest to a text."""

    by: str = Field(description="The reader whose vectors are compared: transformer or counting.")
    texts: list[NearText] = Field(description="The nearest first, without the text itself.")
    itself: list[NearText] = Field(description="The text itself, if it is a training text, once for each label.")
    compared: str = Field(description="What the similarities are.")
    remark: str = Field(description="A sentence if the text is a training text, or if no text is near; or empty.")


class Explanation(BaseModel):
    """Why the model prefers one label to another, or gives a number. The margin is the sum of all shares,
    `without_known_words` and `unexplained`."""

    model_config = ConfigDict(extra="allow")

    text: str
    prediction: Label | list[Label]
    label: Label | None = Field(default=None, description="The explained label.")
    rival: Label | None = Field(default=None, description="Null with several labels per text.")
    probability: float | None = None
    interval_low: float | None = Field(default=None, description="Only of a number, as the next one.")
    interval_high: float | None = None
    margin: float = Field(description="Of `label` over `rival`, in logits; or the number.")
    words: list[Share]
    without_known_words: float = Field(description="What a text without known words would get.")
    unexplained: float = Field(description="What the method leaves over.")
    readers: list[str] = Field(description="The readers that take part.")
    verdict: str = Field(description="A sentence that says how far the explanation, not the answer, can be trusted.")
    trusted: bool | None = Field(
        description="Whether the explanation, not the answer, can be trusted. Null if the text has too few words, or "
        "its words hardly move the answer."
    )
    unlike_training: bool | None = Field(description="Null if the model does not know.")
    nearest: Nearest | None = Field(default=None, description="Null if it was not asked for.")


class Answer(BaseModel):
    """The answer to a text. An empty text has nulls."""

    prediction: Label | list[Label] | None
    path: str | None = Field(
        default=None,
        description="Of labels with levels: the path to the last level that is more likely right than wrong. Null if "
        "none is.",
    )
    path_probability: float | None = None
    confidence: float | None = Field(default=None, description="The confidence and the probabilities of labels.")
    probabilities: dict[str, float] | None = Field(default=None, description="The most probable label first.")
    interval_low: float | None = Field(
        default=None, description="The interval of a number. Null if too few rows were held out in training."
    )
    interval_high: float | None = None
    readers: dict[str, float] | None = Field(
        default=None,
        description="What each reader adds: to the margin of the answer over its rival, in logits, or to the number. "
        "Null if the model has one reader.",
    )
    unseen_share: float | None = Field(
        description="The share of words and word pairs that fewer than two training texts have. Null if the model does "
        "not know."
    )
    unlike_training: bool | None = Field(description="Null if the model does not know.")
    reading: Reading | None = Field(description="Null if the transformer is not asked.")
    needs_review: bool | None = Field(default=None, description="Only with `review_below`.")
    explanation: Explanation | None = Field(default=None, description="Only with `explain`.")


class Prediction(BaseModel):
    """The answers in the order of the texts."""

    model_config = with_examples(
        {
            "model": "reviews",
            "answers": [
                {
                    "prediction": "positive",
                    "confidence": 0.87,
                    "probabilities": {"positive": 0.87, "negative": 0.13},
                    "readers": {"counting": -0.4, "transformer": 2.3},
                    "unseen_share": 0.31,
                    "unlike_training": False,
                    "reading": {
                        "tokens": 612,
                        "windows": 2,
                        "note": "The transformer read 612 tokens in 2 overlapping windows of 512, and its "
                        "logits are their mean.",
                        "unknown_words": [],
                        "more_unknown_words": 0,
                    },
                }
            ],
        }
    )

    model: str
    answers: list[Answer]


class ExplainRequest(BodyOfRequest):
    """A text to explain."""

    model_config = with_examples({"text": "not at all bad"})

    text: Text
    label: Label | None = Field(default=None, description="Explain this label. Default: the most probable one.")
    method: str | None = Field(
        default=None,
        description="How to explain the transformer: see docs/how-to/explain.md. Default: `shapley`, or "
        "`integrated-gradients` for texts of more than 32 words.",
    )
    nearest: bool = Field(
        default=False,
        description="Also return the nearest training texts, if the model keeps them (`keeps_texts` in /model).",
    )
    model: str | None = Field(default=None, description=MODEL)


class Reasons(Explanation):
    """An explanation, with the name of the model."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "model": "reviews",
                    "text": "not bad",
                    "label": "positive",
                    "rival": "negative",
                    "probability": 0.87,
                    "margin": 1.9,
                    "words": [
                        {"word": "not", "start": 0, "end": 3, "counting": -0.1, "transformer": 1.6, "total": 1.5},
                        {"word": "bad", "start": 4, "end": 7, "counting": -0.3, "transformer": 0.6, "total": 0.3},
                    ],
                    "without_known_words": 0.1,
                    "unexplained": 0.0,
                    "readers": ["counting", "transformer"],
                    "verdict": "This explanation can be trusted: by deletion of words, its shares did better in 40 of "
                    "40 comparisons with random rankings. It says what moved the answer, which may be wrong.",
                    "trusted": True,
                    "unlike_training": False,
                }
            ]
        },
    )

    model: str


class About(BaseModel):
    """The models that are served, and the largest requests that are answered."""

    models: list[dict[str, Any]] = Field(
        examples=[[{"name": "reviews", "labels": ["negative", "positive"], "parameters": 331266, "window": 512}]]
    )
    limits: dict[str, int] = Field(examples=[{"texts": 256, "characters": 100000}])
    tables: bool = Field(description="Whether /table is there. glassformer-light leaves it out.")
    feedback: bool = Field(description="Whether /feedback keeps right answers.")
    version: str


class Status(BaseModel):
    """Whether the server is there."""

    status: str = Field(examples=["ok"])


class Ready(Status):
    """Whether a request would be answered now."""

    not_reloaded: list[str] = Field(
        description="Models whose folder has changed and cannot be read. The model of before answers. /model says why."
    )


class Refusal(BaseModel):
    """Why a request was not answered, and what to do."""

    reason: str = Field(examples=["300 texts are more than 256; send them in several requests"])
