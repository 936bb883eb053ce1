"""The limits on requests. They are checked before a text is cut into tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

from glassformer.data.encodings import half_of_pair
from glassformer.errors import GlassformerError

CLOSED = 499  # as nginx has it: the client closed the connection


class RefusedError(GlassformerError):
    """A request that is not answered.

    Args:
        status: the status code of HTTP.
        retry_after: the seconds after which another try may succeed.
    """

    def __init__(self, status: int, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The largest requests that are answered.

    Attributes:
        body_bytes: of a request with texts.
        body_seconds: in which the body of a request has to arrive.
        texts: of one request.
        characters: of one text.
        explained_characters: of a text to explain. It takes a few seconds, in which nothing else is answered.
        explained_texts: of one request to `/predict` that asks for explanations.
        table_bytes, table_rows: of a table.
        waiting: requests that wait for the models at the same time.
        waiting_of_client: those of a client that ask for more than answers, such as explanations.
        wait_seconds: how long a request waits at most before its turn comes.
        batch_characters: of the texts that are answered together. A larger request is answered in parts, between
            which others are answered.
    """

    body_bytes: int = 2_000_000
    body_seconds: int = 60
    texts: int = 256
    characters: int = 100_000
    explained_characters: int = 5_000
    explained_texts: int = 8
    table_bytes: int = 20_000_000
    table_rows: int = 50_000
    waiting: int = 128
    waiting_of_client: int = 8
    wait_seconds: int = 30
    batch_characters: int = 16_384

    def check_texts(self, texts: Sequence[str]) -> None:
        """Raise `RefusedError` (422) if these are too many texts, or one is too long."""
        if len(texts) > self.texts:
            raise RefusedError(422, f"{len(texts):,} texts are more than {self.texts:,}; send them in several requests")
        self.check_lengths(texts, "text")

    def check_lengths(self, texts: Sequence[str], unit: str) -> None:
        """Raise `RefusedError` (422) if one of the texts is too long. `unit` is what a text is called: text or row."""
        for number, text in enumerate(texts, 1):
            which = f"{unit} {number:,}" if len(texts) > 1 else "the text"
            _check_text(text, which, self.characters, "`glassformer predict` reads texts of any length")

    def check_all_explained(self, texts: Sequence[str]) -> None:
        """Raise `RefusedError` (422) if these are too many texts to explain at once, or one is too long."""
        if len(texts) > self.explained_texts:
            raise RefusedError(
                422, f"{len(texts):,} texts are more than the {self.explained_texts:,} to explain at once"
            )
        for text in texts:
            self.check_explained(text)

    def check_explained(self, text: str) -> None:
        """Raise `RefusedError` (422) if the text is too long to be explained here."""
        advice = "`glassformer explain` explains texts of any length"
        _check_text(text, "the text", self.explained_characters, advice)


def _check_text(text: str, which: str, longest: int, advice: str) -> None:
    if len(text) > longest:
        raise RefusedError(
            422, f"{which} has {len(text):,} characters, more than the {longest:,} that are read here; {advice}"
        )
    if (place := half_of_pair(text)) is not None:
        where = f"character {place + 1:,} of {which}"
        raise RefusedError(422, f"{where} is half of a surrogate pair, which is not a character")
