import signal
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
import pytest
import torch

from glassformer.data.documents import Documents
from glassformer.data.sources import Sources
from glassformer.data.splits import ValidationConfig
from glassformer.data.table import Table
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model
from glassformer.readers.body.reader import BodyReader
from glassformer.readers.joining import READ, STRANGE
from glassformer.targets.labels import training_readers
from glassformer.targets.labels.target import labels_of
from glassformer.training.initial_weights import InitialWeights
from glassformer.training.language_modelling import LanguageModelling
from glassformer.training.loop import InterruptedTraining, NotANumberError, Trainer
from glassformer.training.own_text import OwnTexts, own_texts, seconds_of
from glassformer.training.preparation import prepare
from glassformer.training.pretrain import pretrain_on_own_texts, recipe_of_first_stage
from glassformer.training.readers import LearnedReaders
from glassformer.training.recipe import Recipe, load_recipe
from glassformer.training.run import train_model
from glassformer.training.training_config import PretrainingConfig
from tests.bodies import ENGLISH
from tests.training.samples import Memory, opinions, recipe

STEPS = 12


def with_pretraining(**values: Any) -> Recipe:
    """A short run of two stages in float32: 12 steps of pre-training, then 2 epochs."""
    settings = {"max_steps": STEPS, "batch_size": 4, "min_steps_per_epoch": 4, "precision": "float32"}
    return recipe().model_copy(update={"pretraining": PretrainingConfig.model_validate(settings | values)})


def more(n_texts: int = 40, *, first: int = 500) -> Documents:
    return Documents(texts=opinions(n_texts, first=first).frame["text"], source="more.txt")


def sources(**values: Any) -> Sources:
    return replace(Sources(train=opinions(), test=opinions(10, first=900), unlabelled=(more(),)), **values)


def stop_after(step: int) -> Memory:
    return Memory(lambda done: signal.raise_signal(signal.SIGINT) if done == step else None)


def assert_same(one: TrainedModel, other: TrainedModel) -> None:
    others = other.model.state_dict()
    for name, tensor in one.model.state_dict().items():
        assert torch.equal(tensor, others[name]), name
    assert one.tokenizer.to_json() == other.tokenizer.to_json()
    assert labels_of(one.config.target).temperature == labels_of(other.config.target).temperature


def apart_from_seconds(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "seconds"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> TrainedModel:
    out = tmp_path_factory.mktemp("whole") / "out"
    train_model(sources(), with_pretraining(), out=out)
    return load_model(out, CLASSIFIER)


@pytest.mark.parametrize(
    ("duration", "seconds"), [("30m", 1800), ("2h", 7200), ("90s", 90), (" 1.5h ", 5400), ("1 m", 60), ("0.5s", 0.5)]
)
def test_a_duration(duration: str, seconds: float) -> None:
    assert seconds_of(duration) == seconds


@pytest.mark.parametrize(
    ("duration", "words"),
    [
        ("30", r"`pretrain='30'`: give a number with a unit: 30s, 30m or 30h"),
        ("0", "leaves no time"),
        ("0m", "leaves no time"),
        ("-5m", "such as 30m"),
        ("", "such as 30m"),
        ("soon", "such as 30m"),
        ("1e9h", "such as 30m"),
        ("inf m", "such as 30m"),
        ("9" * 5_000 + "h", "such as 30m"),
        ("1m30s", "such as 30m"),
        (30, r"`pretrain=30`: give a duration"),
    ],
)
def test_no_duration(duration: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        seconds_of(duration)


def test_validation_and_test_texts_are_read_in_no_stage() -> None:
    """Nor do they reach the vocabulary: each of these texts has a word of its own."""
    chosen = with_pretraining().model_copy(
        update={"tokenizer": recipe().tokenizer.model_copy(update={"min_frequency": 1})}
    )
    first = prepare(sources(), chosen).splits
    assert first.validation is not None
    held_out = pl.concat([first.validation.frame["text"], opinions(10, first=900).frame["text"]])
    prepared = prepare(
        sources(unlabelled=(more(), Documents(texts=held_out.append(more(1, first=800).texts), source="u"))), chosen
    )
    assert prepared.own_texts is not None
    assert not set(prepared.own_texts.texts) & set(held_out[:-1])
    assert prepared.own_texts.unlabelled.left_out == {"test": 10, "validation": 12}
    assert len(prepared.own_texts.texts) == 48 + 40 + 1
    vocabulary = prepared.tokenizer.vocabulary().keys()
    assert {"500", "800"} <= vocabulary
    assert not {text.split()[4] for text in held_out[:-1]} & vocabulary


def test_unlabelled_texts_that_nothing_reads_are_refused() -> None:
    with pytest.raises(UsageError, match=r"`unlabelled=`: only word vectors and.*'english'.*or `pretrain='30m'`"):
        prepare(sources(), recipe())
    start = InitialWeights.of(train_model(Sources(train=opinions()), recipe(epochs=1)), "runs/other")
    with pytest.raises(UsageError, match=r"`model.body='own'`.*pre-training does not go with `init='runs/other'`"):
        prepare(sources(), recipe(), init=start)
    prepared = prepare(sources(unlabelled=()), recipe())
    assert own_texts(sources(unlabelled=()), prepared.splits, recipe()) is prepared.own_texts is None


def test_rows_without_a_label_are_read_if_something_reads_texts_and_they_are_not_a_few_slips() -> None:
    def read(rows: int, chosen: Recipe, **values: Any) -> OwnTexts | None:
        own = Documents(
            texts=pl.concat([more(rows - 1).texts, opinions(1, first=900).frame["text"]]), source="t", own=True
        )
        given = sources(unlabelled=(own,), **values)
        return own_texts(given, given.split(chosen.validation, seed=0), chosen)

    assert read(40, recipe()) is None, "nothing reads texts, which is no mistake"
    few, many = read(5, with_body("english")), read(6, with_body("english"))
    assert few is None, "5 of 60"
    assert many is not None
    assert (len(many.unlabelled.texts), many.unlabelled.left_out) == (5, {"test": 1})
    pretrained = read(2, with_pretraining())
    assert pretrained is not None
    assert len(pretrained.unlabelled.texts) == 1


def test_the_second_stage_starts_from_the_weights_of_the_first() -> None:
    """All weights but those of the head."""
    prepared, memory = prepare(sources(), with_pretraining()), Memory()
    second, _ = pretrain_on_own_texts(prepared, memory)
    assert second.init is not None
    before, after = prepared.model.state_dict(), second.model.state_dict()
    trunk = [name for name in after if name.startswith("trunk.")]
    assert len(trunk) > 5
    assert all(torch.equal(after[name], second.init.weights[name]) for name in trunk)
    assert any(not torch.equal(after[name], before[name]) for name in trunk)
    assert all(torch.equal(after[name], before[name]) for name in after if name not in trunk)
    assert second.tokenizer.to_json() == prepared.tokenizer.to_json()
    assert memory.messages == [
        "stage 1 of 2: pre-training on 88 texts (40 without labels)",
        "stage 2 of 2: training on 48 rows",
    ]


def test_the_folder_and_the_card_say_what_was_read(whole: TrainedModel, tmp_path: Path) -> None:
    record = whole.config.data["pretraining"]
    assert record == {
        "texts": 88,
        "unlabelled_texts": 40,
        "unlabelled": ["more.txt"],
        "left_out": {},
        "fingerprint": record["fingerprint"],
        "tokens": 88 * 7,
        "passes": pytest.approx(STEPS / 8),
        "seconds": record["seconds"],
        "train_loss": record["train_loss"],
    }
    assert whole.config.training_seconds > record["seconds"] > 0
    assert whole.config.init is not None
    assert whole.config.init["from"] == "pre-training"
    assert whole.config.recipe["pretraining"]["max_steps"] == STEPS
    given = sources(
        unlabelled=(Documents(texts=pl.concat([more().texts, opinions(3, first=900).frame["text"]]), source="u"),)
    )
    train_model(given, with_pretraining(), out=tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    assert "minutes on 88 texts, 40 of them from `u`: 616 tokens, read 1.5 times." in card
    assert "3 unlabelled texts were left out as test or validation texts." in card


@pytest.mark.parametrize("step", [1, 4, 11, STEPS, STEPS + 1, STEPS + 6])
def test_interrupted_in_either_stage_and_resumed_is_uninterrupted(
    step: int, whole: TrainedModel, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with pytest.raises(InterruptedTraining):
        train_model(sources(), with_pretraining(), out=out, observer=stop_after(step))
    memory = Memory()
    resumed = train_model(sources(), with_pretraining(), out=out, resume=True, observer=memory)
    assert_same(resumed, whole)
    assert apart_from_seconds(resumed.config.data["pretraining"]) == apart_from_seconds(
        whole.config.data["pretraining"]
    )
    is_over = step > STEPS
    assert ("stage 1 of 2: pre-training is over" in memory.messages) == is_over
    assert not any(path.is_dir() for path in out.iterdir())


def test_interrupted_between_the_stages(whole: TrainedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any failure after the first stage keeps what it learned."""

    def fails(*_: Any) -> None:
        raise GlassformerError("the disk is on fire")

    with monkeypatch.context() as patch:
        patch.setattr("glassformer.training.preparation.start_from", fails)
        with pytest.raises(GlassformerError, match="on fire"):
            train_model(sources(), with_pretraining(), out=tmp_path / "out")
    memory = Memory()
    resumed = train_model(sources(), with_pretraining(), out=tmp_path / "out", resume=True, observer=memory)
    assert "stage 1 of 2: pre-training is over" in memory.messages
    assert_same(resumed, whole)


@pytest.mark.parametrize("step", [5, STEPS + 3], ids=["pre-training", "a part of cross-fitting"])
def test_the_parts_of_cross_fitting_start_from_the_same_weights(step: int, tmp_path: Path) -> None:
    chosen = with_pretraining()
    small = chosen.model.model_copy(update={"counting": "tfidf"})
    chosen = chosen.model_copy(update={"model": small, "validation": ValidationConfig(min_rows=1_000)})
    whole, memory = train_model(sources(), chosen), Memory()
    with pytest.raises(InterruptedTraining):
        train_model(sources(), chosen, out=tmp_path / "out", observer=stop_after(step))
    resumed = train_model(sources(), chosen, out=tmp_path / "out", resume=True, observer=memory)
    assert_same(resumed, whole)
    assert resumed.config.readers == whole.config.readers
    assert sum("pre-training" in message for message in memory.messages) == 1
    assert memory.messages.index("stage 2 of 2: training on 60 rows") < memory.messages.index(
        "cross-fitting: training 1 of 5, without part 1 of 4"
    )


def test_in_memory_it_is_the_same_run(whole: TrainedModel) -> None:
    assert_same(train_model(sources(), with_pretraining()), whole)


def test_only_the_same_run_is_resumed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(InterruptedTraining):
        train_model(sources(), with_pretraining(), out=out, observer=stop_after(2))
    for given, chosen, words in (
        (sources(unlabelled=(more(39),)), with_pretraining(), "the unlabelled texts changed"),
        (sources(), with_pretraining(max_steps=13), r"pretraining\.max_steps was 12 and is now 13"),
        (sources(unlabelled=()), recipe(), "pretraining was .* and is now not set"),
    ):
        with pytest.raises(UsageError, match=words):
            train_model(given, chosen, out=out, resume=True)


def test_a_failure_before_the_first_checkpoint_leaves_nothing(tmp_path: Path) -> None:
    few = with_pretraining().model_copy(update={"model": recipe().model.model_copy(update={"max_seq_len": 4096})})
    with pytest.raises(UsageError, match=r"tokens do not fill one window of 4,096"):
        train_model(sources(), few, out=tmp_path / "out")
    assert list((tmp_path / "out").glob("*")) == []


def test_divergence_of_the_first_stage_names_its_settings(tmp_path: Path) -> None:
    wild = with_pretraining(learning_rate=1e3, optimizer="sgd", clip=1e30, warmup=0.0)
    with pytest.raises(NotANumberError, match=r"stage 1 of 2, pre-training: .*`pretraining\.learning_rate=1e\+02`"):
        train_model(sources(), wild, out=tmp_path / "out")


@pytest.mark.parametrize("in_memory", [True, False])
def test_divergence_after_an_epoch_of_the_first_stage_is_survived(
    in_memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second stage starts from the best weights, whether there is a folder or not."""
    run = Trainer.run

    def diverges(trainer: Trainer[Any]) -> Any:
        found = run(trainer)
        if isinstance(trainer.task, LanguageModelling):
            raise NotANumberError("The loss is NaN.")
        return found

    monkeypatch.setattr(Trainer, "run", diverges)
    memory = Memory()
    trained = train_model(sources(), with_pretraining(), out=None if in_memory else tmp_path / "out", observer=memory)
    assert "warning: pre-training diverged: The loss is NaN. The best weights so far are used" in memory.messages
    assert trained.config.data["pretraining"]["texts"] == 88


def test_time_that_was_spent_counts_after_a_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock finds it a second on."""
    clock = iter(range(1_000_000))
    monkeypatch.setattr("glassformer.training.loop.time.perf_counter", lambda: float(next(clock)))
    out, timed = tmp_path / "out", with_pretraining(max_steps=None, max_seconds=60.0)
    stopped, resumed = stop_after(8), Memory()
    with pytest.raises(InterruptedTraining):
        train_model(sources(), timed, out=out, observer=stopped)
    trained = train_model(sources(), timed, out=out, resume=True, observer=resumed)
    assert resumed.messages[0] == "stage 1 of 2: pre-training on 88 texts (40 without labels) for 60 seconds"
    assert resumed.messages[1].startswith("resumed at step 9")
    assert 60 <= trained.config.data["pretraining"]["seconds"] < 75


def test_the_recipe_after_pretraining_gives_the_open_values(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, pretrained = load_recipe(), load_recipe(overrides={"pretraining.max_seconds": 60, "training.seed": 3})
    assert pretrained.training == load_recipe("after-pretraining").training.model_copy(update={"seed": 3})
    assert pretrained.model == plain.model
    assert pretrained.pretraining is not None
    assert (pretrained.pretraining.seed, pretrained.pretraining.max_seconds) == (3, 60)
    monkeypatch.setattr("glassformer.training.recipe._AFTER_PRETRAINING", "fine-tune")
    gentle = load_recipe(overrides={"pretraining.max_seconds": 60})
    assert gentle.training == load_recipe("fine-tune").training != plain.training
    own = load_recipe(overrides={"pretraining.max_seconds": 60, "training.learning_rate": 0.5, "pretraining.seed": 8})
    assert own.training.learning_rate == 0.5
    assert own.pretraining is not None
    assert own.pretraining.seed == 8


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model.design": "vinh-mlp"}, "pre-training needs our own design"),
        ({"model.norm": "batch"}, "pre-training: norm='batch'"),
        ({"model.embedding": "one-hot"}, "pre-training: embedding='one-hot'"),
        ({"pretraining.max_steps": 3}, "two budgets"),
        ({"pretraining.hidden_share": 1.5}, r"pretraining\.hidden_share = 1\.5"),
        ({"pretraining.epochz": 5}, r"unknown key pretraining\.epochz \(did you mean pretraining\.epochs"),
        (
            {"pretraining.hiden_share": 0.5},
            r"unknown key pretraining\.hiden_share \(did you mean pretraining\.hidden_share",
        ),
    ],
)
def test_a_recipe_that_cannot_be_pretrained(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        load_recipe(overrides={"pretraining.max_seconds": 60} | settings)


def test_causal_attention_is_pretrained_causally() -> None:
    chosen = with_pretraining().model_copy(update={"model": recipe().model.model_copy(update={"attention": "causal"})})
    assert recipe_of_first_stage(chosen).model.causal
    assert not recipe_of_first_stage(with_pretraining()).model.causal


def test_several_labels_and_a_cut_text() -> None:
    table: Table = opinions()
    listed = table.frame.with_columns(pl.col("label").map_elements(lambda label: [label], pl.List(pl.String)))
    cut = with_pretraining().model_copy(update={"tokenizer": recipe().tokenizer.model_copy(update={"max_tokens": 5})})
    trained = train_model(sources(train=replace(table, frame=listed, multilabel=True)), cut)
    assert trained.config.target.multilabel
    assert trained.config.data["pretraining"]["tokens"] == 88 * 5


def with_body(body: str) -> Recipe:
    """A run without a transformer."""
    small = recipe().model.model_copy(update={"body": body, "counting": "tfidf"})
    return recipe().model_copy(update={"model": small, "training": recipe().training.model_copy(update={"epochs": 0})})


def body_reader(trained: TrainedModel) -> BodyReader:
    reader = trained.readers["body"]
    assert isinstance(reader, BodyReader)
    return reader


@pytest.mark.parametrize(
    ("body", "said"), [("english", "continuing the word vectors of english on"), ("own", "learning")]
)
def test_word_vectors_of_the_own_texts(body: str, said: str, tmp_path: Path) -> None:
    """Those of held-out texts are not read, and unlabelled texts alone do not change the vocabulary."""
    new = pl.Series(["a zorblax film"] * 2 + ["a zorblax play"])
    held_out = opinions(3, first=900).frame["text"].str.replace("film", "quuxol")
    test = replace(opinions(3, first=900), frame=opinions(3, first=900).frame.with_columns(text=held_out))
    given = sources(test=test, unlabelled=(Documents(texts=pl.concat([new, held_out]), source="u"),))
    memory = Memory()
    trained = train_model(given, with_body(body), out=tmp_path / "out", observer=memory)
    assert any(message.startswith(said) and "(2 without labels)" in message for message in memory.messages)
    assert "3 unlabelled texts are also test texts and were left out" in memory.messages
    reader, plain = body_reader(trained), train_model(replace(given, unlabelled=()), with_body(body))
    assert "zorblax" in reader.words
    assert (reader.body, reader.origin) == (body, "own" if body == "own" else "continued")
    reader.save(tmp_path)
    assert BodyReader.load(tmp_path).origin == reader.origin
    assert "zorblax" not in body_reader(plain).words
    assert not any("quuxol" in word for word in reader.words)
    assert trained.tokenizer.to_json() == plain.tokenizer.to_json()
    record = {"texts": 50, "unlabelled_texts": 2, "unlabelled": ["u"], "left_out": {"repeated": 1, "test": 3}}
    assert trained.config.data["body"] == record
    card = (tmp_path / "out" / "README.md").read_text()
    assert "50 texts, 2 of them from `u`. 3 unlabelled texts were left out" in card
    assert ("body" in plain.config.data) == (body == "own")
    again = body_reader(train_model(given, with_body(body)))
    assert again.words == reader.words
    assert np.array_equal(again.values, reader.values)


def test_word_vectors_stay_as_they_were_if_held_out_rows_speak_against_the_unlabelled_texts(tmp_path: Path) -> None:
    """Good and bad words are used alike, so vectors continued on these texts no longer tell them apart."""
    words = ["awful", "lovely", "boring", "gripping", "poor", "fine"]
    drawn = np.random.default_rng(0).choice(words, (3_000, 8))
    texts = pl.Series([" ".join(["the", *row, f"thing{number % 7}"]) for number, row in enumerate(drawn)])
    memory = Memory()
    given = Sources(train=opinions(300), unlabelled=(Documents(texts=texts, source="muddled"),))
    whole = with_body(str(ENGLISH))
    trained = train_model(given, whole, out=tmp_path / "out", observer=memory)
    assert any("word vectors: english answers 60 held-out rows clearly better" in said for said in memory.messages)
    assert (body_reader(trained).body, body_reader(trained).origin) == ("english", "given")
    assert "body" not in trained.config.data
    assert "muddled" not in (tmp_path / "out" / "README.md").read_text()
    plain = body_reader(train_model(replace(given, unlabelled=()), whole))
    assert np.array_equal(body_reader(trained).values, plain.values)


def test_vectors_that_have_read_more_than_these_rows_lead() -> None:
    """Not those of these texts alone. A body of another language that is named must first prove itself."""
    backwards = pl.col("text").map_elements(lambda text: " ".join(word[::-1] for word in text.split()), pl.String)
    strange = replace(opinions(30), frame=opinions(30).frame.with_columns(text=backwards))
    odds: dict[str, float | None] = {}
    weights = {}
    joined = training_readers._joined

    def told(learned: LearnedReaders, scores: Any) -> Any:
        odds[name] = learned.fitted["body"].odds
        return joined(learned, scores)

    with patch.object(training_readers, "_joined", told):
        for name, body, train in (
            ("read", "english", opinions(30)), ("own", "own", opinions(30)), ("strange", "english", strange)
        ):  # fmt: skip
            weights[name] = train_model(Sources(train=train), with_body(body)).config.weights
    assert odds == {"read": READ, "own": None, "strange": STRANGE}
    assert weights["read"]["body"] > 2 * weights["read"]["counting"]
    assert weights["own"]["body"] < 2 * weights["own"]["counting"]
    assert weights["strange"]["body"] < weights["strange"]["counting"]


def test_unlabelled_texts_in_a_language_that_english_does_not_know_have_vectors_of_their_own() -> None:
    backwards = pl.col("text").map_elements(lambda text: " ".join(word[::-1] for word in text.split()), pl.String)
    train = replace(opinions(), frame=opinions().frame.with_columns(text=backwards))
    unlabelled = Documents(texts=more().texts.to_frame("text").select(backwards).to_series(), source="u")
    memory = Memory()
    trained = train_model(Sources(train=train, unlabelled=(unlabelled,)), with_body("auto"), observer=memory)
    assert any(
        message.endswith("so it is not used; word vectors of these texts are learned instead")
        for message in memory.messages
    )
    assert any(message.startswith("learning word vectors from") for message in memory.messages)
    assert body_reader(trained).origin == "own"
    assert "mlif" in body_reader(trained).words


def test_word_vectors_are_not_learned_again_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stops(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    whole, out = body_reader(train_model(sources(), with_body("own"))), tmp_path / "out"
    for resume, place in enumerate(("readers.body.learning.factorised", "training.word_vectors.fit_body")):
        with monkeypatch.context() as patch:
            patch.setattr(f"glassformer.{place}", stops)
            with pytest.raises(KeyboardInterrupt):
                train_model(sources(), with_body("own"), out=out, resume=bool(resume))
        monkeypatch.setattr("glassformer.readers.body.learning.read_words", stops)
    resumed = body_reader(train_model(sources(), with_body("own"), out=out, resume=True))
    assert np.array_equal(resumed.values, whole.values)


def test_body_and_pretraining_read_the_same_texts() -> None:
    chosen = with_pretraining()
    chosen = chosen.model_copy(update={"model": chosen.model.model_copy(update={"body": "own"})})
    trained = train_model(sources(), chosen)
    shared = {name: trained.config.data["pretraining"][name] for name in trained.config.data["body"]}
    assert shared == trained.config.data["body"]
