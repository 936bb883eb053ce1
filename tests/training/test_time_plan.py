"""What a run does in the minutes that it is given: the decision, its settings, and that a resumed run keeps it."""

import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.experiment import ROOT
from glassformer.data.sources import Sources
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.data.wording import about
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction.model_folder import TrainedModel
from glassformer.readers.body.learning import learn_body
from glassformer.training import time_plan
from glassformer.training.loop import InterruptedTraining
from glassformer.training.preparation import check_minutes, prepare
from glassformer.training.recipe import Recipe, load_recipe, with_settings
from glassformer.training.run import train_model
from glassformer.training.time_plan import (
    Pace,
    PretrainingPace,
    Situation,
    TimePlan,
    decide,
    measure_pace,
    measure_pretraining,
    own_tokens,
)
from tests.training.samples import SMALL, Memory, opinions, recipe
from tests.training.test_own_text import more
from tests.training.test_readers import BOTH, chosen

PACE = Pace(steps=(400,), step=0.5, answering=10.0)  # 210 s
CROSSED = Pace(steps=(300, 300, 300), step=0.1, answering=10.0)  # 100 s
TEXTS = PretrainingPace(texts=7000, start=20.0, step=1.0, steps_per_pass=30)  # 20 s and 30 s for each pass


def situation(minutes: float, **changes: Any) -> Situation:
    values: dict[str, Any] = {
        "spent": 40.0,
        "readers": ("counting",),
        "beside": 30.0,
        "epochs": 4,
        "pace": PACE,
        "pretraining": None,
    }
    return Situation(minutes=minutes, **values | changes)


@pytest.mark.parametrize(
    ("minutes", "changes", "settings", "seconds"),
    [
        (0.1, {}, {"training.epochs": 0}, 40),
        (1.45, {}, {"training.epochs": 0}, 40),  # 37 s are left, for 74 steps
        (1.46, {}, {"training.max_steps": 75}, 87.5),
        (2, {}, {"training.max_steps": 140}, 120),
        (4.11, {}, {"training.max_steps": 393}, 246.5),
        (4.2, {}, {}, 250),
        (60, {}, {}, 250),
        (2, {"pace": CROSSED}, {"training.max_steps": 233}, 119.9),  # of each of the three trainings
        (2.4, {"pace": CROSSED}, {}, 140),
        (0.1, {"readers": (), "beside": None}, {"training.max_steps": 75}, 87.5),  # nothing else would answer
        (0.7, {"pace": Pace(steps=(20,), step=0.5, answering=1.0)}, {"training.epochs": 0}, 40),
        (0.8, {"pace": Pace(steps=(20,), step=0.3, answering=1.0)}, {}, 47),
        (4.9, {"pretraining": TEXTS}, {}, 250),  # 24 s are less than a pass
        (5, {"pretraining": TEXTS}, {"pretraining.max_steps": 30}, 300),
        (10, {"pretraining": TEXTS}, {"pretraining.max_steps": 330}, 600),
        (17, {"pretraining": TEXTS}, {"pretraining.max_steps": 750}, 1020),
        (600, {"pretraining": TEXTS}, {"pretraining.max_steps": 750}, 1020),  # 25 passes at most
    ],
)
def test_the_most_that_fits(minutes: float, changes: dict[str, Any], settings: dict[str, Any], seconds: float) -> None:
    plan = decide(situation(minutes, **changes))
    assert plan.settings == settings
    assert plan.seconds == pytest.approx(seconds)
    given = 60 * minutes
    assert plan.seconds <= given or given < 87.5


@pytest.mark.parametrize(
    ("minutes", "changes", "said"),
    [
        (1, {}, "time: 1 minute. Counting took 30 seconds. No time is left to train a transformer, so the model will "
         "answer by counting alone. With 88 seconds, a transformer would be trained too"),
        (2, {}, "time: 2 minutes. Counting took 30 seconds. The transformer gets 140 steps, about 80 seconds. With 4.2 "
         "minutes, it would get 400 steps (4 epochs)"),
        (1, {"readers": (), "beside": None}, "time: 1 minute. The transformer gets 75 steps, about 48 seconds. It "
         "never gets fewer, so the run takes about 88 seconds. With 4.2 minutes, it would get 400 steps (4 epochs)"),
        (60, {"pace": CROSSED}, "time: 60 minutes. Counting took 30 seconds. 4 epochs of the transformer take about "
         "1.7 minutes (3 trainings: the table is cross-fitted). The run takes about 2.3 minutes, and more time would "
         "change nothing"),
        (4.5, {"pretraining": TEXTS}, "time: 4.5 minutes. Counting took 30 seconds. 4 epochs of the transformer take "
         "about 3.5 minutes. With 5 minutes, the model would first be pre-trained on its 7,000 texts"),
        (10, {"pretraining": TEXTS}, "time: 10 minutes. Counting took 30 seconds. About 5.8 minutes go to pre-training "
         "on 7,000 texts, which are read 11.0 times; then 4 epochs of the transformer take about 3.5 minutes. With 17 "
         "minutes, the texts would be read 25 times"),
        (60, {"pretraining": TEXTS}, "time: 60 minutes. Counting took 30 seconds. About 13 minutes go to pre-training "
         "on 7,000 texts, which are read 25.0 times; then 4 epochs of the transformer take about 3.5 minutes. The run "
         "takes about 17 minutes, and more time would change nothing"),
    ],
)  # fmt: skip
def test_it_says_what_it_chose_and_what_more_time_would_do(minutes: float, changes: dict[str, Any], said: str) -> None:
    assert decide(situation(minutes, **changes)).said == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.2, "1 second"), (89, "89 seconds"), (90, "1.5 minutes"), (120, "2 minutes"), (1234, "21 minutes"),
     (9000, "2.5 hours"), (40_000, "11 hours")],
)  # fmt: skip
def test_a_time_in_words(seconds: float, said: str) -> None:
    assert about(seconds) == said


@pytest.mark.parametrize("minutes", [0, -1, float("nan"), float("inf"), "10", None, True, 1_000_001, 10**400, [1]])
def test_no_time(minutes: Any) -> None:
    with pytest.raises(
        UsageError, match=r"`minutes=.*`: give a number of minutes above 0 and at most 1,000,000, such as 10"
    ):
        check_minutes(minutes, Recipe())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"training.max_steps": 5}, r"`minutes=10` and `training.max_steps=5` both say how long to train"),
        ({"training.max_seconds": 5.0}, r"`minutes=10` and `training.max_seconds=5` both say how long to train"),
        ({"training.epochs": 0}, r"`training.epochs=0` trains none"),
        ({"pretraining.max_steps": 5}, r"`minutes=10` decides how long to pre-train; leave it out, or leave out"),
    ],
)
def test_a_recipe_that_says_itself_how_long(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        prepare(Sources(train=opinions()), load_recipe(overrides=settings), minutes=10)


def test_other_settings_are_as_if_they_had_been_given() -> None:
    given: dict[str, Any] = {"training.learning_rate": 1e-4, "model.d_ff": 64, "validation.fraction": 0.3}
    for more_settings in ({"training.max_steps": 80}, {"pretraining.max_steps": 80}, {}):
        expected = load_recipe(preset="tiny", overrides=given | more_settings)
        assert with_settings(load_recipe(preset="tiny", overrides=given), more_settings) == expected
    assert with_settings(recipe(), {}) == recipe()


def test_the_page_states_the_table() -> None:
    page = (ROOT / "docs" / "how-to" / "minutes.md").read_text(encoding="utf-8")
    assert f"fewer than {time_plan.FEWEST_STEPS} steps" in page
    assert f"about {time_plan.FEWEST_TOKENS:,} tokens or more" in page
    assert f"at most {time_plan.MOST_PASSES:g} times" in page
    assert time_plan.FEWEST_PASSES == 1
    assert "at least one pass" in page
    said = decide(situation(10, readers=("counting", "body"), pretraining=TEXTS)).said
    assert said in " ".join(page.split())


def planned(monkeypatch: pytest.MonkeyPatch, pace: Pace, pretraining: PretrainingPace | None = None) -> None:
    """Let the next run find this pace, whatever the machine does."""
    monkeypatch.setattr(time_plan, "measure_pace", lambda *_: pace)
    monkeypatch.setattr(time_plan, "measure_pretraining", lambda *_: pretraining)
    monkeypatch.setattr(time_plan, "FEWEST_TOKENS", 0 if pretraining else 10**9)
    monkeypatch.setattr(time_plan, "FEWEST_STEPS", 3)


def with_words(min_rows: int, tokenizer: TokenizerConfig) -> Recipe:
    return chosen(min_rows=min_rows).model_copy(update={"tokenizer": tokenizer})


def assert_same(one: TrainedModel, other: TrainedModel) -> None:
    theirs = other.model.state_dict()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in one.model.state_dict().items())
    assert one.config.readers == other.config.readers
    assert one.tokenizer.to_json() == other.tokenizer.to_json()
    assert one.config.recipe == other.config.recipe


FAST, SLOW = (Pace(steps=(10,), step=seconds, answering=0.0) for seconds in (1e-9, 60 * 1e3))
READ = PretrainingPace(texts=60, start=0.0, step=60.0, steps_per_pass=1)


@pytest.mark.parametrize("min_rows", [0, 2000], ids=["validation rows", "cross-fitted"])
@pytest.mark.parametrize(
    ("pace", "pretraining", "settings"),
    [(FAST, None, {}), (SLOW, None, {"training.epochs": 0}),
     (Pace(steps=(10,), step=11.9 * 60, answering=0.0), None, {"training.max_steps": 8}),
     (FAST, READ, {"pretraining.max_steps": 25})],
    ids=["recipe", "counting", "steps", "pre-training"],
)  # fmt: skip
def test_the_plan_is_plain_settings(
    min_rows: int, pace: Pace, pretraining: PretrainingPace | None, settings: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    planned(monkeypatch, pace, pretraining)
    rows, memory = Sources(train=opinions(60)), Memory()
    own_words = TokenizerConfig(min_frequency=1)  # each text has a word of its own, which a fold does not learn
    trained = train_model(rows, with_words(min_rows, own_words), minutes=100, observer=memory)
    assert trained.metrics["time_plan"]["settings"] == settings
    assert trained.metrics["time_plan"]["minutes"] == 100
    assert len([message for message in memory.messages if message.startswith("time: 100 minutes. Counting")]) == 1
    assert_same(trained, train_model(rows, with_settings(with_words(min_rows, own_words), settings)))


def test_what_is_measured_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_plan, "_PROBE", (0.0, 0.05, 0.05))
    rows, memory = Sources(train=opinions(59)), Memory()  # rows that no other test has fitted: see tests/fits.py
    trained = train_model(rows, chosen(min_rows=2000), minutes=600, observer=memory)
    assert trained.metrics["time_plan"]["settings"] == {}
    assert 0 <= trained.metrics["time_plan"]["expected_minutes"] < 5  # of so few rows it may round to 0
    assert "(5 trainings: the table is cross-fitted)" in "".join(memory.messages)
    assert_same(trained, train_model(rows, chosen(min_rows=2000)))


def test_a_pace_is_that_of_the_run() -> None:
    prepared = prepare(Sources(train=opinions(60)), recipe(epochs=3), minutes=10)
    pace = measure_pace(prepared, (), 0.05)
    assert pace.steps == (15,)  # 48 rows in steps of ten
    assert 0 < pace.step < 1
    assert pace.seconds(4) == pytest.approx(4 * pace.step + pace.answering)
    assert pace.seconds() == pytest.approx(15 * pace.step + pace.answering)
    assert own_tokens(prepared) == pytest.approx(len(prepared.data.train.tokens) + 48, rel=0.01)
    pretraining = measure_pretraining(prepared, 0.05)
    assert pretraining is not None
    assert pretraining.texts == 48
    assert pretraining.steps_per_pass == -(-(own_tokens(prepared) // SMALL.max_seq_len) // 8)
    wide = recipe().model_copy(update={"model": SMALL.model_copy(update={"max_seq_len": 256})})
    few = prepare(Sources(train=opinions(8)), wide, minutes=1)
    assert measure_pretraining(few, 0.05) is None  # not a window of text


def test_unlabelled_texts_without_time_for_them_are_no_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    planned(monkeypatch, FAST, READ)
    given = Sources(train=opinions(60), unlabelled=(more(),))
    read = train_model(given, chosen(), minutes=100)
    assert read.config.data["pretraining"]["unlabelled_texts"] == 40
    planned(monkeypatch, SLOW)
    memory = Memory()
    assert "pretraining" not in train_model(given, chosen(), minutes=100, observer=memory).config.data
    assert "Of the 40 unlabelled texts, only the words are used, for the vocabulary" in "".join(memory.messages)


def test_what_the_run_took_before_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the command line, these are the seconds of loading PyTorch and reading the table."""
    planned(monkeypatch, Pace(steps=(10,), step=5e3, answering=0.0))
    began = time.perf_counter() - 20_000
    trained = train_model(Sources(train=opinions(60)), chosen(min_rows=0), minutes=1_000, began=began)
    assert trained.metrics["time_plan"]["settings"] == {"training.max_steps": 7}


def test_the_time_of_continuing_word_vectors_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Situation] = []

    def decided(now: Situation) -> TimePlan:
        seen.append(now)
        return decide(now)

    def slow(*given: Any, **settings: Any) -> Any:
        time.sleep(0.1)
        return learn_body(*given, **settings)

    planned(monkeypatch, FAST)
    monkeypatch.setattr(time_plan, "decide", decided)
    monkeypatch.setattr(time_plan, "_END", 100.0)
    monkeypatch.setattr("glassformer.training.word_vectors.learn_body", slow)
    with_body = chosen().model_copy(update={"model": BOTH.model_copy(update={"body": "english"})})
    train_model(Sources(train=opinions(60), unlabelled=(more(),)), with_body, minutes=100)
    (now,) = seen
    assert now.readers == ("counting", "body")
    assert now.beside is not None
    assert now.beside > 0.1
    assert now.spent > 101 * now.beside  # and the end of the run


@pytest.mark.usefixtures("every_training")
def test_a_resumed_run_keeps_its_plan(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows, settings = Sources(train=opinions(60)), chosen(min_rows=2000)
    planned(monkeypatch, Pace(steps=(10,), step=11.9 * 60, answering=0.0))
    whole = train_model(rows, settings, minutes=100)
    stop = Memory(lambda step: signal.raise_signal(signal.SIGINT) if step == 11 else None)
    with pytest.raises(InterruptedTraining):
        train_model(rows, settings, minutes=100, out=tmp_path, observer=stop)
    planned(monkeypatch, SLOW)
    with pytest.raises(UsageError, match=r"minutes was 100 and is now 50"):
        train_model(rows, settings, minutes=50, out=tmp_path, resume=True)
    with pytest.raises(UsageError, match=r"minutes was 100 and is now not set"):
        train_model(rows, settings, out=tmp_path, resume=True)
    memory = Memory()
    assert_same(train_model(rows, settings, minutes=100, out=tmp_path, resume=True, observer=memory), whole)
    assert "The transformer gets 8 steps" in "".join(memory.messages)


def test_interrupted_while_it_measures_it_keeps_the_counting_reader(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: object) -> Pace:
        raise InterruptedTraining

    rows, settings = Sources(train=opinions(60)), chosen(min_rows=2000)
    monkeypatch.setattr(time_plan, "measure_pace", interrupted)
    with pytest.raises(InterruptedTraining):
        train_model(rows, settings, minutes=100, out=tmp_path)
    planned(monkeypatch, FAST)
    memory = Memory()
    train_model(rows, settings, minutes=100, out=tmp_path, resume=True, observer=memory)
    assert not any("fitting the counting reader" in message for message in memory.messages)


def test_the_rows_are_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    planned(monkeypatch, FAST)
    seen: list[int] = []
    encode = TextTokenizer.encode

    def told(tokenizer: TextTokenizer, texts: list[str]) -> Any:
        seen.append(len(texts))
        return encode(tokenizer, texts)

    monkeypatch.setattr(TextTokenizer, "encode", told)
    train_model(Sources(train=opinions(60)), chosen(), minutes=100)
    assert sorted(seen) == [15, 45]


@pytest.mark.parametrize("plan", ['{"settings": 3}', '{"settings": {}, "seconds": 1, "said": "another"}'])
def test_a_damaged_plan_is_named(plan: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    rows = Sources(train=opinions(60))
    planned(monkeypatch, FAST)
    stop = Memory(lambda step: signal.raise_signal(signal.SIGINT) if step == 3 else None)
    with pytest.raises(InterruptedTraining):
        train_model(rows, chosen(), minutes=100, out=tmp_path, observer=stop)
    (tmp_path / "checkpoint" / "time-plan.json").write_text(plan)
    with pytest.raises(GlassformerError, match=r"time-plan.json is damaged; start the run again with `overwrite=True`"):
        train_model(rows, chosen(), minutes=100, out=tmp_path, resume=True)


def test_a_model_that_cannot_be_pretrained_or_count_is_trained_for_less(monkeypatch: pytest.MonkeyPatch) -> None:
    planned(monkeypatch, SLOW)
    published = load_recipe(overrides={"model.design": "vinh-mlp", "training.epochs": 2})
    trained = train_model(Sources(train=opinions(60)), published, minutes=1)
    assert trained.metrics["time_plan"]["settings"] == {"training.max_steps": 3}
    assert trained.metrics["history"][-1]["step"] == 3
