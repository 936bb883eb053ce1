"""The queue of requests, and the one thread that asks the models."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

from glassformer.data.wording import counted
from glassformer.explanation.pauses import in_pauses
from glassformer.serving.limits import Limits, RefusedError

Result = TypeVar("Result")
Answered = list[dict[str, Any]]

_CHARACTERS_OF_ANY_TEXT = 32  # an empty text takes time too
_ANSWERS_IN_A_ROW = 4
_MEMORY = 0.1  # how much the last piece changes the measured seconds of a piece


class Answering(Protocol):
    """A model that answers texts."""

    @property
    def name(self) -> str:
        """The name that requests use."""

    @property
    def depends_on_batch(self) -> bool:
        """Whether the answer to a text depends on the texts that are answered together with it."""

    def answers(self, texts: Sequence[str]) -> Answered:
        """Return an answer for each text."""


class Batch(NamedTuple):
    """What was answered together."""

    model: Answering
    answers: list[Answered]
    seconds: float


@dataclass(kw_only=True, eq=False)
class _Piece:
    """Work that waits.

    Attributes:
        model, texts: what `work` asks, if it can be answered together with others.
        is_part: whether it is a part of a large request for answers.
        client: who sent the request.
        done: its result, or why there is none.
    """

    work: Callable[[], Any]
    model: Answering | None = None
    texts: Sequence[str] = ()
    is_part: bool = False
    client: str | None = None
    done: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def is_small(self) -> bool:
        """Whether it goes before all else, together with others."""
        return self.model is not None and not self.is_part

    @property
    def characters(self) -> int:
        return _characters(self.texts)

    def outcome(self) -> _Outcome:
        """Do it."""
        try:
            return _Outcome(self.work())
        except Exception as error:
            return _Outcome(None, error)
        except BaseException as error:  # a panic in Rust, say; without an outcome, all would wait
            return _Outcome(None, RuntimeError(type(error).__name__))


def _characters(texts: Sequence[str]) -> int:
    return sum(len(text) + _CHARACTERS_OF_ANY_TEXT for text in texts)


class _Outcome(NamedTuple):
    result: Any
    error: Exception | None = None


class Worker:
    """Does work in the order of the requests, in one thread.

    Small requests for answers go before all else, as an explanation takes as long as a thousand answers, and so does a
    large request, of which each part waits for its turn. So that these come to an end too, every fifth turn is theirs.
    An explanation that has begun lets answers pass in its pauses, as it may take seconds. In between it replaces the
    embeddings inside a model to compute gradients, so nothing else may ask the model then.

    Small requests to the same model that wait at the same time are answered together, as a model reads many short
    texts faster than one after the other. No request waits for others to come. Each gets the answers that it would get
    alone: if the model fails at some of them, they are answered one by one, and only those that fail alone have failed.

    Args:
        on_batch: called after each batch, in the event loop.
    """

    def __init__(self, limits: Limits, *, on_batch: Callable[[Batch], None] | None = None) -> None:
        self._limits = limits
        self._on_batch = on_batch
        self._queue: deque[_Piece] = deque()
        self._taking = threading.Lock()  # while pieces are put into the queue and taken out
        self._seconds, self._long_seconds = 0.0, 0.0  # of an answer and of all else, on average
        self._under_way, self._under_way_is_long, self._answers_in_a_row = 0, False, 0
        self._working: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="models")

    def begin(self, models: Iterable[Answering]) -> None:
        """Start the thread, and see that the models answer in it. What they raise is raised before requests come."""
        self._thread.submit(len, "").result()
        for model in models:
            self._thread.submit(model.answers, ["a text"]).result()

    @property
    def waiting(self) -> int:
        """The number of requests that wait or are being answered."""
        return len(self._queue) + self._under_way

    def refuse_if_full(self, status: int = 429, *, long: bool = False) -> None:
        """Raise `RefusedError` if too many requests wait, or so long ones that another one would give up waiting.

        Args:
            long: whether the request asks for more than answers. Then it waits for all others.
        """
        after = self.seconds_to_wait(long=long)
        if self.waiting >= self._limits.waiting or after > self._limits.wait_seconds:
            raise _refused(status, f"{self.waiting:,} requests wait already", after)

    def seconds_to_wait(self, *, long: bool) -> float:
        """How long what comes first will take, by what was measured so far."""
        queue = tuple(self._queue)  # at once: the thread may take from it
        answers = sum(piece.is_small for piece in queue)
        others = len(queue) - answers if long else 0
        if long and self._under_way_is_long:
            others += self._under_way
        else:
            answers += self._under_way
        return answers * self._seconds + others * self._long_seconds

    async def do(self, work: Callable[[], Result], *, client: str | None = None) -> Result:
        """Do a piece of work in the thread. If this is cancelled, work that has not begun is not done.

        Args:
            client: who asks for it. Each client may have some such requests that wait.

        Raises:
            RefusedError: too many pieces wait already (429), or it has waited for too long (503).
        """
        self.refuse_if_full(long=True)
        waiting = sum(piece.client == client for piece in tuple(self._queue)) if client else 0
        if waiting >= self._limits.waiting_of_client:
            raise _refused(429, f"{waiting:,} of your requests wait already", waiting * self._long_seconds)
        return await self._done(_Piece(work=work, client=client), patience=self._limits.wait_seconds)

    async def answer(self, model: Answering, texts: Sequence[str]) -> Answered:
        """Answer texts, together with those of other requests, which pass between the parts of a large one.

        Raises what `do` raises.
        """
        answers, parts = Answered(), self._parts(model, texts)
        self.refuse_if_full(long=len(parts) > 1)
        for part in parts:
            asked = _Piece(work=partial(model.answers, part), model=model, texts=part, is_part=len(parts) > 1)
            answers += await self._done(asked, patience=self._limits.wait_seconds)
        return answers

    def _parts(self, model: Answering, texts: Sequence[str]) -> list[list[str]]:
        """Cut what is too large for a batch. What depends on its batch stays whole."""
        parts, room = list[list[str]]([[]]), self._limits.batch_characters
        for text in texts:
            size = _characters([text])
            if size > room and parts[-1] and not model.depends_on_batch:
                parts.append([])
                room = self._limits.batch_characters
            parts[-1].append(text)
            room -= size
        return parts

    async def go_on(self, work: Callable[[], Result], *, client: str | None = None) -> Result:
        """Do the next piece of something that has begun. It waits for its turn and is not refused."""
        return await self._done(_Piece(work=work, client=client), patience=None)

    async def _done(self, piece: _Piece, *, patience: float | None) -> Any:
        loop = asyncio.get_running_loop()
        with self._taking:
            self._queue.append(piece)
        if self._working is None:
            self._working = loop.create_task(self._work())
        impatient = None if patience is None else loop.call_later(patience, self._give_up, piece)
        try:
            return await piece.done
        finally:
            if impatient is not None:
                impatient.cancel()
            self._taken(piece)  # this may be cancelled

    def _taken(self, piece: _Piece) -> bool:
        """Take a piece out of the queue, if it is there."""
        with self._taking:
            if is_there := piece in self._queue:
                self._queue.remove(piece)
        return is_there

    def _give_up(self, piece: _Piece) -> None:
        if self._taken(piece):
            why = f"the request has waited for {counted(self._limits.wait_seconds, 'second')}"
            piece.done.set_exception(_refused(503, why, self.seconds_to_wait(long=not piece.is_small)))

    async def _work(self) -> None:
        """Do all that waits."""
        try:
            while self._queue:
                await self._do(self._next())
        finally:
            self._working = None

    def _next(self) -> list[_Piece]:
        """Take the piece whose turn it is, and with it those behind it that are answered together with it."""
        turn_of_answers = self._answers_in_a_row < _ANSWERS_IN_A_ROW
        with self._taking:
            first = self._first(small=turn_of_answers) or self._queue[0]
            self._answers_in_a_row = self._answers_in_a_row + 1 if first.is_small else 0
            return self._with_others(first)

    def _first(self, *, small: bool) -> _Piece | None:
        return next((piece for piece in self._queue if piece.is_small == small), None)

    def _with_others(self, first: _Piece) -> list[_Piece]:
        self._queue.remove(first)
        taken, room = [first], self._limits.batch_characters - first.characters
        together = first.is_small and first.model is not None and not first.model.depends_on_batch
        for piece in list(self._queue) if together else []:
            if piece.model is not first.model or piece.is_part:
                continue
            room -= piece.characters
            if room < 0:
                break  # smaller ones behind it stay in their order
            taken.append(piece)
            self._queue.remove(piece)
        return taken

    async def _do(self, pieces: list[_Piece]) -> None:
        self._under_way, self._under_way_is_long = len(pieces), not pieces[0].is_small
        loop, begun = asyncio.get_running_loop(), time.perf_counter()
        try:
            outcomes = await loop.run_in_executor(self._thread, self._outcomes, pieces, loop)
        finally:
            self._under_way = 0
        self._settle(pieces, outcomes, time.perf_counter() - begun)

    def _outcomes(self, pieces: list[_Piece], loop: asyncio.AbstractEventLoop) -> list[_Outcome]:
        """Do pieces, in the thread. Answers pass in the pauses of other work."""
        if pieces[0].model is not None:
            return _outcomes(pieces)
        with in_pauses(partial(self._let_answers_pass, loop)):
            return _outcomes(pieces)

    def _let_answers_pass(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._taking:
            first = self._first(small=True)
            pieces = [] if first is None else self._with_others(first)
        if pieces:
            begun = time.perf_counter()
            outcomes = _outcomes(pieces)
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(self._settle, pieces, outcomes, time.perf_counter() - begun)

    def _settle(self, pieces: list[_Piece], outcomes: list[_Outcome], seconds: float) -> None:
        """Give each piece its outcome, in the event loop."""
        if not pieces[0].is_small:
            self._long_seconds += _MEMORY * (seconds - self._long_seconds)
        else:
            self._seconds += _MEMORY * (seconds / len(pieces) - self._seconds)
        for piece, (result, error) in zip(pieces, outcomes, strict=True):
            if piece.done.done():  # cancelled
                continue
            if error is None:
                piece.done.set_result(result)
            else:
                piece.done.set_exception(error)
        if self._on_batch is not None and pieces[0].model is not None:
            self._on_batch(Batch(pieces[0].model, [found.result for found in outcomes if not found.error], seconds))

    def stop(self) -> None:
        """End the thread after the piece of work that it does now."""
        self._thread.shutdown(wait=False, cancel_futures=True)


def _outcomes(pieces: list[_Piece]) -> list[_Outcome]:
    """Answer the texts of all pieces together. If that fails, answer each piece alone."""
    if len(pieces) > 1 and (model := pieces[0].model) is not None:
        try:
            answers = model.answers([text for piece in pieces for text in piece.texts])
        except BaseException:
            pass  # which of them failed shows below
        else:
            rest = iter(answers)
            return [_Outcome([next(rest) for _ in piece.texts]) for piece in pieces]
    return [piece.outcome() for piece in pieces]


def _refused(status: int, why: str, seconds: float) -> RefusedError:
    """Return the refusal of a request that may be answered if it comes again after these seconds."""
    after = max(1, math.ceil(seconds))
    return RefusedError(status, f"{why}; try again in {counted(after, 'second')}", retry_after=after)
