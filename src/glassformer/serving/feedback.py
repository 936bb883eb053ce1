"""The right labels that people send, kept in a file of lines of JSON."""

import errno
import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from glassformer.errors import GlassformerError, UsageError
from glassformer.serving.limits import RefusedError
from glassformer.serving.served_model import named
from glassformer.serving.service import REFUSALS, Service, unless_closed
from glassformer.serving.shapes import BodyOfRequest, Label, Name, Refusal, Status, Text, with_examples
from glassformer.serving.watching import note

_LONGEST_LINE = 1 << 22  # bytes; a request has fewer
_ABOUT = ("prediction", "confidence", "model", "time")
"""What each line says beside the row and its right label."""
_RESPONSES = REFUSALS | {
    404: {"model": Refusal, "description": "There is no such model, or this server keeps no feedback."}
}


class FeedbackRequest(BodyOfRequest):
    """A text and its right label, or a row of several inputs and its right label."""

    model_config = with_examples({"text": "not at all bad", "label": "positive"})

    text: Text
    label: Label | list[Label] = Field(description="The right label or number; a list if a text has several labels.")
    group: Name | int | None = Field(
        default=None, description="The group of the row, such as its customer, if the model was trained with groups."
    )
    model: str | None = Field(default=None, description="The model that was asked. Default: the first one.")


@dataclass(frozen=True)
class FeedbackFile:
    """A file that lines are added to. If it does not exist yet, it is made so that only its owner can read it.

    Raises:
        UsageError: it cannot be written.
    """

    path: Path
    lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        try:
            if self.path.exists() and not self.path.is_file():
                raise UsageError(f"`keep_feedback={self.path}` is a folder, a pipe or a device; name a file")
            os.close(self._open())
            if not self._holds_records():
                raise UsageError(
                    f"`keep_feedback={self.path}` holds other things than feedback; name a file of its own"
                )
        except OSError as error:
            raise UsageError(
                f"`keep_feedback={self.path}`: {error.strerror}; name a file that can be written"
            ) from error

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)

    def _holds_records(self) -> bool:
        """Whether the first whole line is feedback, or there is none: a loss of power may leave half of one."""
        with self.path.open("rb") as file:
            while line := file.readline(_LONGEST_LINE):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    if not line.startswith(b'{"'):
                        return False
                else:
                    return isinstance(record, dict) and record.keys() >= set(_ABOUT)
        return True

    def add(self, record: dict[str, Any]) -> None:
        """Add a line, whole or not at all.

        Raises:
            GlassformerError: the disk is full, or the file cannot be written any more.
        """
        line = (json.dumps(record, ensure_ascii=False) + "\n").encode()
        with self.lock:
            try:
                file = self._open()
                try:
                    size = os.fstat(file).st_size
                    if not _ends_whole(file, size):
                        line = b"\n" + line
                    try:
                        if os.write(file, line) < len(line):
                            raise OSError(errno.ENOSPC, "the disk is full")
                        os.fsync(file)
                    except OSError:
                        os.ftruncate(file, size)  # whoever sends it again would have it there twice
                        raise
                finally:
                    os.close(file)
            except OSError as error:
                raise GlassformerError(f"the feedback was not kept: {error.strerror}") from error


def _ends_whole(file: int, size: int) -> bool:
    """Whether a file has no half of a line, as an editor, or a machine that lost power, may leave it."""
    os.lseek(file, max(0, size - 1), os.SEEK_SET)
    return os.read(file, 1) in (b"", b"\n")


def add_feedback(app: FastAPI, service: Service, file: FeedbackFile | None) -> None:
    """Add the route. Without a file it keeps nothing."""

    @app.post("/feedback", responses=_RESPONSES, response_model=Status)
    async def feedback(request: Request, body: FeedbackRequest) -> dict[str, str]:
        """Keep a text with its right label, and with the answer of the model, as a row of its training table."""
        if file is None:
            raise RefusedError(
                404, "this server keeps no feedback; start it with `keep_feedback=feedback.jsonl` to keep it there"
            )
        model = named(service.models, body.model)
        text = model.read(body.text)
        service.limits.check_texts([text])
        model.target.check_right(body.label)
        row = model.as_trained(body.text, body.label, body.group)
        note(request, model.name, [text])
        # Not `worker.answer`: the metrics count the texts of /predict.
        (answer,) = await unless_closed(request, service.worker.do(partial(model.answers, [text])))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        about = dict(zip(_ABOUT, (answer["prediction"], answer.get("confidence"), model.name, now), strict=True))
        await run_in_threadpool(file.add, row | {name: value for name, value in about.items() if name not in row})
        return {"status": "kept"}
