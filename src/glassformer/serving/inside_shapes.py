"""What requests that look further into an answer hold, and what is said to them."""

from pydantic import BaseModel, Field, JsonValue

from glassformer.serving.shapes import MODEL, BodyOfRequest, Label, Text, TextWord, with_examples


class InsideRequest(BodyOfRequest):
    """A text whose answer is looked into."""

    model_config = with_examples({"text": "not at all bad"})

    text: Text
    label: Label | None = Field(default=None, description="Ask about this label. Default: the most probable one.")
    model: str | None = Field(default=None, description=MODEL)


class CounterfactualRequest(InsideRequest):
    """A text whose answer should turn."""

    above: float | None = Field(default=None, description="Of a number: move the answer above this.")
    below: float | None = Field(
        default=None, description="Of a number: move the answer below this. Default: out of its interval."
    )


class Change(BaseModel):
    """A word that is changed: the characters (code points) from `start` to `end` of the text."""

    before: str
    after: str = Field(description="Empty if the word is dropped.")
    start: int
    end: int


class Counterfactual(BaseModel):
    """A change of words that turns the answer."""

    model_config = with_examples(
        {
            "model": "reviews",
            "changes": [{"before": "bad", "after": "good", "start": 11, "end": 14}],
            "text": "not at all good",
            "prediction": "negative",
            "confidence": 0.71,
            "probability": 0.29,
            "answers": 22,
            "budget": 500,
            "sentence": "The answer turns if you replace 'bad' by 'good' (22 changed texts were answered).",
        }
    )

    model: str
    changes: list[Change] = Field(description="In the order of the text. Empty if none was found within the budget.")
    text: str = Field(description="The changed text.")
    prediction: Label | list[Label] = Field(description="The answer to the changed text.")
    confidence: float | None = Field(default=None, description="The probability of that answer, for labels.")
    probability: float | None = Field(
        default=None, description="The probability of the asked label in the changed text."
    )
    interval_low: float | None = Field(default=None, description="The interval around that answer, for a number.")
    interval_high: float | None = None
    answers: int = Field(description="How many changed texts the model answered.")
    budget: int = Field(description="How many it was allowed to answer.")
    sentence: str


class HeadAttention(BaseModel):
    """A head, and how much of its attention each word gets. The rest goes to the start token and to white space."""

    layer: int = Field(description="From 1.")
    head: int = Field(description="From 1, in its layer.")
    attention: list[float]


class HeadShare(HeadAttention):
    """What the margin loses if the output of a head is set to 0: in logits or in the unit of a number. Its
    attention is a mean over the tokens."""

    share: float


_EXAMPLE_WORDS: list[JsonValue] = [{"word": "not", "start": 0, "end": 3}, {"word": "bad", "start": 4, "end": 7}]


class Heads(BaseModel):
    """What each attention head adds to the margin of `label` over `rival`, or to a number."""

    model_config = with_examples(
        {
            "model": "reviews",
            "label": "positive",
            "rival": "negative",
            "words": _EXAMPLE_WORDS,
            "heads": [{"layer": 1, "head": 1, "attention": [0.5, 0.3], "share": 0.7}],
        }
    )

    model: str
    label: Label | None = None
    rival: Label | None = Field(default=None, description="Null with several labels per text.")
    prediction: float | None = Field(default=None, description="The number. Not there for labels.")
    words: list[TextWord]
    heads: list[HeadShare]


class AttentionRequest(BodyOfRequest):
    """A text, and the word that attends."""

    model_config = with_examples({"text": "not at all bad", "word": 3})

    text: Text
    word: int = Field(description="The number of the word in `words`, from 0.")
    model: str | None = Field(default=None, description=MODEL)


class Attention(BaseModel):
    """The attention of each head from a word."""

    model_config = with_examples(
        {
            "model": "reviews",
            "word": 1,
            "words": _EXAMPLE_WORDS,
            "heads": [{"layer": 1, "head": 1, "attention": [0.6, 0.1]}],
        }
    )

    model: str
    word: int
    words: list[TextWord]
    heads: list[HeadAttention]
