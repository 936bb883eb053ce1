"""The queue in front of the models: each request is answered once, in order, exactly as alone."""

import asyncio
import threading
from collections import Counter
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from glassformer.explanation.explain import explain
from glassformer.explanation.pauses import in_pauses, pause
from glassformer.prediction.predictor import Predictor
from glassformer.serving.api import create_app
from glassformer.serving.limits import Limits, RefusedError
from glassformer.serving.worker import Batch, Worker
from tests.explanation.test_explain import two_readers
from tests.serving.samples import served

WAIT = 20  # seconds, after which a test has failed
LIMITS = Limits(batch_characters=160)  # five short texts


class FakeModel:
    """Answers a text with the text. It fails at texts that begin with `!`, and waits until it may go on."""

    def __init__(self, name: str = "", *, depends_on_batch: bool = False) -> None:
        self.name, self.depends_on_batch = name, depends_on_batch
        self.asked: list[list[str]] = []
        self.turns = threading.Semaphore(0)

    def answers(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        assert self.turns.acquire(timeout=WAIT)
        self.asked.append(list(texts))
        if failing := [text for text in texts if text.startswith("!")]:
            raise ValueError(failing[0])
        return [{"text": text, "model": self.name} for text in texts]


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, WAIT))


async def settled() -> None:
    """Let everything happen that does not wait for the thread."""
    for _ in range(10):
        await asyncio.sleep(0)


texts_of_a_request = st.lists(st.text("ab", max_size=20) | st.just("!"), max_size=4)
nothing: st.SearchStrategy[list[str]] = st.just([])
ask = st.tuples(st.just("ask"), st.integers(0, 1), texts_of_a_request)
job = st.tuples(st.just("job"), st.just(0), nothing)
cancel = st.tuples(st.just("cancel"), st.integers(0, 20), nothing)
turn = st.tuples(st.just("turn"), st.integers(0, 1), nothing)


@settings(deadline=None, max_examples=150)
@given(plan=st.lists(ask | ask | job | cancel | turn, max_size=25))
def test_each_request_is_answered_once_in_order_exactly_as_alone(
    plan: list[tuple[str, int, list[str]]],
) -> None:
    models, jobs, done = [FakeModel("first"), FakeModel("second")], list[int](), list[int]()
    batches: list[Batch] = []

    async def play() -> None:
        worker = Worker(LIMITS, on_batch=batches.append)
        tasks: dict[int, tuple[int, list[str], asyncio.Task[Any]]] = {}

        async def asked(number: int, model: int, texts: list[str]) -> Any:
            try:
                return await worker.answer(models[model], texts)
            finally:
                done.append(number)

        cancelled: set[int] = set()
        for number, (what, value, texts) in enumerate(plan):
            if what == "ask":
                marked = [f"{text}{place}#{number}" for place, text in enumerate(texts)]  # every text is another one
                tasks[number] = (value, marked, asyncio.create_task(asked(number, value, marked)))
            elif what == "job":
                tasks[number] = (0, [], asyncio.create_task(worker.do(partial(jobs.append, number))))
            elif what == "cancel" and value in tasks and not tasks[value][2].done():
                tasks[value][2].cancel()
                cancelled.add(value)
            elif what == "turn":
                models[value].turns.release()
            await settled()
        for fake in models:
            fake.turns.release(1_000)
        outcomes = await asyncio.gather(*(task for *_, task in tasks.values()), return_exceptions=True)
        for (number, (model, texts, _)), outcome in zip(tasks.items(), outcomes, strict=True):
            failing = [text for text in texts if text.startswith("!")]
            if number in cancelled:
                assert isinstance(outcome, asyncio.CancelledError)
            elif plan[number][0] == "job":
                assert outcome is None
            elif failing:
                assert isinstance(outcome, ValueError)
                assert str(outcome) == failing[0], "the error is that of this request"
            else:
                assert outcome == [{"text": text, "model": models[model].name} for text in texts]
        assert worker.waiting == 0
        worker.stop()
        kept = [number for number in tasks if number not in cancelled]
        assert jobs == sorted(jobs)
        assert set(jobs) >= {number for number in kept if plan[number][0] == "job"}
        for index in range(2):
            asking = [number for number in kept if plan[number][:2] == ("ask", index)]
            whole = {number for number in asking if size(tasks[number][1]) <= LIMITS.batch_characters}
            order = [number for number in done if number in whole]
            assert order == sorted(order), "requests to the same model are answered in their order"

    run(play())
    for fake in models:
        whole = Counter(text for texts in fake.asked if not any(map(is_bad, texts)) for text in texts)
        assert set(whole.values()) <= {1}, "no text is answered twice"
        for texts in fake.asked:
            requests = {text.rpartition("#")[2] for text in texts}
            assert len(requests) == 1 or size(texts) <= LIMITS.batch_characters
    assert sum(len(answers) for batch in batches for answers in batch.answers) == sum(
        len(texts) for fake in models for texts in fake.asked if not any(map(is_bad, texts))
    )


def size(texts: Sequence[str]) -> int:
    return sum(len(text) + 32 for text in texts)


def is_bad(text: str) -> bool:
    return text.startswith("!")


def test_what_waits_is_answered_together_and_nothing_waits_for_others() -> None:
    model = FakeModel()

    async def play() -> None:
        worker = Worker(Limits())
        first = asyncio.create_task(worker.answer(model, ["alone"]))
        await settled()
        others = [asyncio.create_task(worker.answer(model, [f"{number}"])) for number in range(20)]
        await settled()
        assert worker.waiting == 21
        model.turns.release(2)
        await asyncio.gather(first, *others)
        worker.stop()

    run(play())
    assert model.asked == [["alone"], [f"{number}" for number in range(20)]]


@pytest.mark.parametrize("depends_on_batch", [False, True])
def test_a_small_request_passes_between_the_parts_of_a_large_one(*, depends_on_batch: bool) -> None:
    model = FakeModel(depends_on_batch=depends_on_batch)
    texts = [f"{number:03}" + "a" * 65 for number in range(10)]  # one more makes a batch too large: 2 x 100 > 160

    async def play() -> None:
        worker = Worker(LIMITS)
        large = asyncio.create_task(worker.answer(model, texts))
        await settled()
        small = asyncio.create_task(worker.answer(model, ["small"]))
        await settled()
        model.turns.release(2)
        assert await small == [{"text": "small", "model": ""}]
        assert large.done() == depends_on_batch
        model.turns.release(10)
        assert [each["text"] for each in await large] == texts
        worker.stop()

    run(play())
    assert model.asked[:2] == [texts if depends_on_batch else texts[:1], ["small"]]


def test_a_small_request_goes_before_the_parts_of_large_ones_that_wait() -> None:
    model = FakeModel()
    texts = [[f"{name}{number}" + "a" * 65 for number in range(3)] for name in "xyz"]

    async def play() -> None:
        worker = Worker(LIMITS)
        large = []
        for each in texts:
            large.append(asyncio.create_task(worker.answer(model, each)))
            await settled()
        small = asyncio.create_task(worker.answer(model, ["small"]))
        await settled()
        model.turns.release(20)
        await small
        assert [[answer["text"] for answer in await each] for each in large] == texts
        worker.stop()

    run(play())
    assert model.asked[:2] == [texts[0][:1], ["small"]]


def test_work_is_done_in_order_and_one_piece_at_a_time() -> None:
    log: list[str] = []

    def piece(name: str) -> None:
        log.append(f"{name} begins")
        log.append(f"{name} ends")

    async def play() -> None:
        worker = Worker(Limits())
        await asyncio.gather(*(worker.do(partial(piece, name)) for name in "abc"))
        worker.stop()

    run(play())
    assert log == [f"{name} {what}" for name in "abc" for what in ("begins", "ends")]


def test_answers_go_first_and_nothing_waits_for_ever() -> None:
    model, answered_before = FakeModel(), list[int]()
    model.turns.release(10)

    async def play() -> None:
        go_on = threading.Event()
        worker = Worker(Limits(batch_characters=1))  # each is answered alone
        held = asyncio.create_task(worker.do(partial(go_on.wait, WAIT)))
        await settled()
        long = [asyncio.create_task(worker.do(lambda: answered_before.append(len(model.asked)))) for _ in range(3)]
        await settled()
        answers = [asyncio.create_task(worker.answer(model, [f"{number}"])) for number in range(10)]
        await settled()
        go_on.set()
        await asyncio.gather(held, *long, *answers)
        worker.stop()

    run(play())
    assert answered_before == [4, 8, 10]


def test_a_client_leaves_room_for_others() -> None:
    async def play() -> None:
        go_on = threading.Event()
        worker = Worker(Limits(waiting_of_client=2))
        asked = []
        for _ in range(3):
            asked.append(asyncio.create_task(worker.do(partial(go_on.wait, WAIT), client="a")))
            await settled()
        with pytest.raises(RefusedError, match="2 of your requests wait already; try again in 1 second") as refused:
            await worker.do(lambda: None, client="a")
        assert refused.value.status == 429
        other = asyncio.create_task(worker.do(lambda: "other", client="b"))
        go_on.set()
        await asyncio.gather(*asked)
        assert await other == "other"
        worker.stop()

    run(play())


def test_what_is_cancelled_while_it_waits_is_never_done() -> None:
    done: list[str] = []

    async def play() -> None:
        go_on = threading.Event()
        worker = Worker(Limits())
        slow = asyncio.create_task(worker.do(partial(go_on.wait, WAIT)))
        late = asyncio.create_task(worker.do(partial(done.append, "late")))
        await settled()
        late.cancel()
        await settled()
        assert worker.waiting == 1
        go_on.set()
        await slow
        assert await worker.do(lambda: "next") == "next"
        worker.stop()

    run(play())
    assert done == []


def test_a_full_queue_says_when_to_try_again() -> None:
    async def play() -> None:
        go_on = threading.Event()
        worker = Worker(Limits(waiting=2))
        await worker.do(lambda: threading.Event().wait(0.2))  # measured
        waiting = [asyncio.create_task(worker.do(partial(go_on.wait, WAIT))) for _ in range(2)]
        await settled()
        with pytest.raises(RefusedError, match="2 requests wait already; try again in 1 second") as refused:
            await worker.do(lambda: None)
        assert (refused.value.status, refused.value.retry_after) == (429, 1)
        begun = asyncio.create_task(worker.go_on(lambda: "more"))  # it has begun, so it is not refused
        go_on.set()
        await asyncio.gather(*waiting)
        assert await begun == "more"
        worker.stop()

    run(play())


def test_a_request_that_would_give_up_waiting_is_refused_at_once() -> None:
    async def play() -> None:
        go_on = threading.Event()
        worker = Worker(Limits(wait_seconds=1))
        worker._long_seconds = 0.6  # as if explanations had taken so long
        waiting = [asyncio.create_task(worker.do(partial(go_on.wait, WAIT))) for _ in range(2)]
        await settled()
        with pytest.raises(RefusedError, match="2 requests wait already; try again in 2 seconds") as refused:
            await worker.do(lambda: None)
        assert refused.value.status == 429
        go_on.set()
        await asyncio.gather(*waiting)
        worker.stop()

    run(play())


def test_the_time_to_wait_is_that_of_the_measured_rate() -> None:
    async def play() -> None:
        go_on = threading.Event()
        worker = Worker(Limits())
        for _ in range(10):
            await worker.do(lambda: threading.Event().wait(0.1))
        waiting = [asyncio.create_task(worker.do(partial(go_on.wait, WAIT))) for _ in range(100)]
        await settled()
        assert 5 <= worker.seconds_to_wait(long=True) < 20
        assert worker.seconds_to_wait(long=False) < 1, "answers wait for what is under way alone"
        go_on.set()
        await asyncio.gather(*waiting)
        worker.stop()

    run(play())


def test_a_request_that_waits_for_too_long_is_refused_and_never_done() -> None:
    done: list[str] = []

    async def play() -> None:
        go_on = threading.Event()
        worker = Worker(Limits(wait_seconds=0))
        slow = asyncio.create_task(worker.do(partial(go_on.wait, WAIT)))
        await settled()
        with pytest.raises(RefusedError, match="has waited for 0 seconds; try again in 1 second") as refused:
            await worker.do(partial(done.append, "late"))
        assert refused.value.status == 503
        go_on.set()
        assert await slow, "what has begun is finished, however long it takes"
        worker.stop()

    run(play())
    assert done == []


def test_a_real_model_answers_together_as_it_does_alone() -> None:
    """But a matrix product rounds its last bits by the shape of the batch."""
    (model,) = served(trained=two_readers()).values()
    words = np.random.default_rng(0).choice(["not", "good", "plot", "bad", "film", "wooden", " ", "é"], (12, 60))
    requests = [[" ".join(row[: 1 + 5 * number])] for number, row in enumerate(words)]  # up to three windows
    requests[3] = ["", "good", "not at all " * 20]
    alone = [model.answers(texts) for texts in requests]

    async def play() -> None:
        batches: list[Batch] = []
        worker = Worker(Limits(), on_batch=batches.append)
        hold = threading.Event()
        held = asyncio.create_task(worker.do(partial(hold.wait, WAIT)))
        waiting = [asyncio.create_task(worker.answer(model, texts)) for texts in requests]
        await settled()
        hold.set()
        await held
        for expected, found in zip(alone, await asyncio.gather(*waiting), strict=True):
            assert len(found) == len(expected)
            for answer, single in zip(found, expected, strict=True):
                assert same(answer, single)
        assert [len(batch.answers) for batch in batches] == [12]
        worker.stop()

    run(play())


def same(found: Any, expected: Any, *, within: float = 1.000001e-6) -> bool:
    """Whether two answers are the same: numbers to a millionth, margins to ten, everything else exactly."""
    if isinstance(expected, float):
        return isinstance(found, float) and abs(found - expected) <= within
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(
            same(found[key], value, within=1e-5 if key == "readers" else within) for key, value in expected.items()
        )
    return bool(found == expected)


def test_a_batch_of_a_real_model_is_as_exact_as_said() -> None:
    """The probabilities themselves differ by less than 1e-6 between a batch and a text alone."""
    predictor = Predictor(two_readers())
    texts = [" ".join(["not", "good", "plot"] * number) for number in range(1, 30)]
    together = predictor.answer(texts).probs
    alone = np.concatenate([predictor.answer([text]).probs for text in texts])
    assert np.abs(together - alone).max() < 1e-6


@pytest.mark.parametrize(
    ("depends_on_batch", "asked"), [(False, [["a"], ["b", "c"], ["d"]]), (True, [["a"], ["b"], ["c"], ["d"]])]
)
def test_answers_that_depend_on_other_texts_are_not_given_together(
    depends_on_batch: bool, asked: list[list[str]]
) -> None:
    async def ask_all() -> None:
        fake, other = FakeModel("fake", depends_on_batch=depends_on_batch), FakeModel("other")
        worker = Worker(LIMITS)
        fake.turns.release(4)
        other.turns.release()
        first = asyncio.create_task(worker.answer(fake, ["a"]))
        await settled()
        await asyncio.gather(first, *(worker.answer(fake, [text]) for text in "bc"), worker.answer(other, ["d"]))
        worker.stop()
        assert fake.asked + other.asked == asked

    run(ask_all())


def test_answers_pass_in_the_pauses_of_other_work() -> None:
    model, said, failed = FakeModel(), list[str](), list[str]()
    model.turns.release(10)
    begun, go_on = threading.Event(), threading.Event()

    def long_work() -> str:
        begun.set()
        assert go_on.wait(WAIT)
        pause()
        said.append("long")
        return "long"

    async def ask(worker: Worker, text: str) -> None:
        try:
            await worker.answer(model, [text])
            said.append(text)
        except ValueError:
            failed.append(text)

    async def play() -> None:
        worker = Worker(LIMITS)
        long = asyncio.create_task(worker.do(long_work))
        await asyncio.to_thread(begun.wait, WAIT)
        passing = [asyncio.create_task(ask(worker, text)) for text in ("a", "!b")]
        await settled()
        assert worker.seconds_to_wait(long=False) == 0, "none of the time of the long work"
        go_on.set()
        assert await long == "long"
        await asyncio.gather(*passing)
        assert worker.waiting == 0
        worker.stop()

    run(play())
    assert (model.asked, failed) == ([["a", "!b"], ["a"], ["!b"]], ["!b"])
    assert sorted(said) == ["a", "long"]


def test_an_explanation_is_the_same_with_answers_in_its_pauses() -> None:
    predictor, text = Predictor(two_readers()), "loved the plot but not at all the acting of the film"
    alone, answers = explain(predictor, text), list[Any]()
    with in_pauses(lambda: answers.append(predictor.logits([text]).tolist())):
        for method in ("shapley", "integrated-gradients", "occlusion"):
            explain(predictor, text, method=method)
        found = explain(predictor, text)
    assert found.as_json() == alone.as_json()
    assert len(answers) > 20
    assert all(answer == answers[0] for answer in answers)


def test_without_a_thread_a_server_ends_before_a_request_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        create_app({})


def test_models_are_asked_before_a_request_comes() -> None:
    model = FakeModel("first")
    model.turns.release()
    Worker(LIMITS).begin([model])
    assert model.asked == [["a text"]]
