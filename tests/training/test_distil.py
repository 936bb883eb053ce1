import dataclasses
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from glassformer.data.arrays import Array, FloatArray
from glassformer.data.checksums import save_arrays
from glassformer.data.documents import Documents, admitted
from glassformer.data.inputs import BEGIN, END, without_columns
from glassformer.data.sources import Sources
from glassformer.data.table import Table
from glassformer.errors import UsageError
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.target import labels_of
from glassformer.targets.labels.training_distil import Distillation
from glassformer.targets.number.target import number_of
from glassformer.targets.number.training_distil import NumberStudent
from glassformer.training.classification import TrainingData
from glassformer.training.distil import Known, Teacher, _splits, distil, student_recipe
from glassformer.training.loop import InterruptedTraining
from glassformer.training.recipe import Recipe
from glassformer.training.run import train_model
from tests.training.samples import N_CLASSES, SMALL, VOCAB_SIZE, Memory, config, opinions, recipe, table, toy_data

train_number = partial(train_model, family="number")

TEXTS = opinions(140, first=1_000).frame["text"]


def documents(texts: Sequence[str] | pl.Series = TEXTS, source: str = "more.txt") -> Documents:
    return Documents(texts=pl.Series(texts, dtype=pl.String), source=source)


def taught(trained: TrainedModel, name: str = "runs/big") -> Teacher:
    return Teacher(name=name, answering=Predictor(trained))


@pytest.fixture(scope="module")
def both_readers() -> TrainedModel:
    counting = SMALL.model_copy(update={"counting": "tfidf"})
    return train_model(Sources(train=opinions(80)), recipe(epochs=2).model_copy(update={"model": counting}))


@pytest.fixture(scope="module")
def several_labels() -> TrainedModel:
    names = [["film"], ["film", "good"], [], ["good"]]
    texts = ["the plot of the film", "a lovely film", "a book", "lovely and fine"]
    rows = table([f"{texts[i % 4]} {i}" for i in range(48)], [names[i % 4] for i in range(48)])
    return train_model(Sources(train=rows), recipe(epochs=3, learning_rate=1e-2))


def of_student(**training: Any) -> Recipe:
    return recipe(**{"epochs": 6, "learning_rate": 1e-2} | training)


def student_data(*, multilabel: bool = False) -> TrainingData:
    """The toy data with the logits of a teacher in the place of labels: it is sure of the label, and right."""
    data = toy_data(multilabel=multilabel)

    def logits(labels: np.ndarray[Any, Any] | None) -> FloatArray:
        assert labels is not None
        return (4.0 * (labels if multilabel else np.eye(N_CLASSES)[labels]) - 2).astype(np.float32)

    return dataclasses.replace(
        data, train_labels=logits(data.train_labels), validation_labels=logits(data.validation_labels)
    )


class Constant(torch.nn.Module):
    """Gives the same logits to all texts."""

    def __init__(self, logits: list[float]) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(torch.tensor(logits), requires_grad=False)

    def forward(self, token_ids: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        return self.logits.expand(len(token_ids), -1)


def test_validation_measures_agreement_and_where_labels_are_known_accuracy() -> None:
    data = student_data()
    known = Known(rows=np.array([0, 4, 5]), labels=np.array([2, 2, 0]))
    task = Distillation(data, config(), max_seq_len=24, temperature=2.0, known=known)
    found = task.validate(Constant([-2.0, 2.0, -2.0]))
    assert data.validation_labels is not None
    assert found["validation_agreement"] == pytest.approx((data.validation_labels.argmax(axis=1) == 1).mean())
    assert found["validation_accuracy"] == 0.0
    known = Known(rows=np.array([0, 4, 5]), labels=np.array([1, 1, 0]))
    task = Distillation(data, config(), max_seq_len=24, temperature=2.0, known=known)
    assert task.validate(Constant([-2.0, 2.0, -2.0]))["validation_accuracy"] == pytest.approx(2 / 3)
    unknown = Distillation(data, config(), max_seq_len=24, temperature=2.0, known=None)
    assert "validation_accuracy" not in unknown.validate(Constant([-2.0, 2.0, -2.0]))


@pytest.mark.parametrize("multilabel", [False, True])
def test_the_loss_is_zero_for_a_student_that_answers_like_the_teacher(multilabel: bool) -> None:
    data = student_data(multilabel=multilabel)
    for name in ("train_labels", "validation_labels"):
        getattr(data, name)[:] = [0.5, -1.0, 2.0]
    task = Distillation(data, config(token_dropout=0.0), max_seq_len=24, temperature=3.0, known=None)
    (examples,) = task.steps(0)[0]()
    same, other = Constant([0.5, -1.0, 2.0]), Constant([0.5, 1.0, 2.0])
    assert float(task.cost(same, examples).loss) == pytest.approx(0, abs=1e-5)
    assert float(task.cost(other, examples).loss) > 0.1
    assert task.weight(examples) == len(examples.labels) == task.count(examples)
    found = {"validation_loss": 0, "validation_agreement": 1, "calibrated_loss": 0}
    assert task.validate(same) == pytest.approx(found, abs=1e-6)
    assert task.validate(other)["validation_agreement"] == (0.0 if multilabel else 1.0)
    assert int(examples.inputs.token_ids.max()) < VOCAB_SIZE


def test_an_epoch_is_judged_after_calibration() -> None:
    """A student that is twice as sure as its teacher of the same answers has nothing left to learn but the scale."""
    data = toy_data(n_validation=30)
    logits = np.random.default_rng(0).normal(size=(30, N_CLASSES)).astype(np.float32)
    data = dataclasses.replace(data, validation_labels=logits)

    def validated(scale: float, **training: Any) -> dict[str, float]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("glassformer.targets.labels.training_distil.score", lambda *_, **__: scale * logits)
            task = Distillation(data, config(**training), max_seq_len=24, temperature=1.0, known=None)
            return task.validate(Constant([0.0] * N_CLASSES))

    found = validated(2.0)
    assert found["validation_loss"] > 0.05
    assert found["calibrated_loss"] == pytest.approx(0, abs=1e-5)
    assert validated(-1.0)["calibrated_loss"] > 0.05
    assert "calibrated_loss" not in validated(2.0, best_epoch_by="loss")


def test_a_student_learns_both_readers_of_its_teacher(both_readers: TrainedModel) -> None:
    teacher = taught(both_readers)
    fresh = [f"the cast of film {number} was {word}" for number in range(9) for word in ("awful", "lovely", "poor")]
    student = distil(teacher, [documents()], of_student())
    best, history = student.metrics["best"], student.metrics["history"]
    assert best["validation_agreement"] > 0.9
    assert best["calibrated_loss"] == min(row["calibrated_loss"] for row in history) < history[0]["calibrated_loss"]
    assert "validation_accuracy" not in best
    answers = Predictor(student).answer(fresh)
    expected = teacher.answering.answer(fresh)
    assert np.mean([a == b for a, b in zip(answers.named, expected.named, strict=True)]) > 0.9
    assert abs(answers.probs - expected.probs).mean() < 0.1
    assert student.counting is None
    assert student.config.readers is None
    assert labels_of(student.config.target).labels == labels_of(both_readers.config.target).labels
    record = student.config.data
    assert (record["source"], record["rows"], record["validation_rows"]) == ("more.txt", 112, 28)
    assert record["teacher"]["name"] == "runs/big"
    assert record["teacher"]["rows"]["data"]["rows"] == both_readers.config.data["rows"]
    assert student.config.remembered == both_readers.config.remembered  # the rows that the labels came from
    assert student.metrics["held_out_answers"]["rows"] == 28
    assert "label_doubts" not in student.metrics


def test_it_is_said_that_a_student_has_no_rules(both_readers: TrainedModel, tmp_path: Path) -> None:
    assert not any("rules" in doubt for doubt in taught(both_readers).doubts)
    rules = tmp_path / "rules.txt"
    rules.write_text(f'"film" -> {labels_of(both_readers.config.target).labels[0]} always\n', encoding="utf-8")
    ruled = SMALL.model_copy(update={"counting": "tfidf", "rules": str(rules)})
    trained = train_model(Sources(train=opinions(80)), recipe(epochs=2).model_copy(update={"model": ruled}))
    said = taught(trained).doubts[-1]
    assert said == "the student learns the rules of runs/big from its answers: none of them decides any more"


def test_probabilities_are_calibrated_by_those_of_the_teacher(both_readers: TrainedModel) -> None:
    """Its answers alone would call a student that is as unsure as its teacher, and always agrees, much too unsure."""
    student = distil(taught(both_readers), [documents()], of_student())
    mean = student.metrics["held_out_answers"]["confidence"]["mean"]
    thresholds = student.metrics["held_out_answers"]["thresholds"]
    assert (thresholds["wrong"], thresholds["label_probability"]) == (None, None)  # no label is known
    assert thresholds["rows"][-1] == student.metrics["held_out_answers"]["rows"]
    expected = Predictor(both_readers).answer(TEXTS.to_list()).confidences.mean()
    assert mean == pytest.approx(expected, abs=0.05)


def test_known_labels_measure_and_are_not_learned(both_readers: TrainedModel) -> None:
    rows = opinions(140, first=1_000)
    wrong = {"good": "bad", "bad": "good"}
    swapped = dataclasses.replace(rows, frame=rows.frame.with_columns(pl.col("label").replace_strict(wrong)))
    students = [distil(taught(both_readers), [], of_student(), labelled=labelled) for labelled in (rows, swapped)]
    right, left = (student.metrics["best"]["validation_accuracy"] for student in students)
    assert right > 0.9
    wrong_of = [student.metrics["held_out_answers"]["thresholds"]["wrong"][-1] for student in students]
    assert wrong_of == [round(28 * (1 - right)), round(28 * right)]
    assert left == pytest.approx(1 - right)
    for name, weights in students[0].model.state_dict().items():
        assert torch.equal(weights, students[1].model.state_dict()[name])


def test_a_text_is_read_once_and_labels_stand_by_their_text(both_readers: TrainedModel) -> None:
    rows = opinions(60)
    some = [*rows.frame["text"][:20], "a new remark", "a new remark", "another one"]
    seen: list[Any] = []
    distil(taught(both_readers), [documents(some)], of_student(), labelled=rows, on_prepared=seen.append)
    (prepared,) = seen
    train, held_out, known = prepared.splits.train, prepared.splits.validation, prepared.known
    together = [*train.frame["text"], *held_out.frame["text"]]
    assert sorted(together) == sorted({*rows.frame["text"], *some})
    assert prepared.splits.notes == ("left out: 21 texts that repeat others",)
    label_of = dict(zip(rows.frame["text"], rows.frame["label"], strict=True))
    texts = held_out.frame["text"].to_list()
    expected = {row: label_of[text] for row, text in enumerate(texts) if text in label_of}
    names = prepared.labels.names
    assert {row: names[label] for row, label in zip(known.rows, known.labels, strict=True)} == expected


def test_several_labels_per_text(several_labels: TrainedModel) -> None:
    texts = [f"{text} {i}" for i in range(100, 140) for text in ("a lovely film", "the plot of a film", "fine book")]
    student = distil(taught(several_labels), [documents(texts)], of_student())
    assert student.config.target.multilabel
    assert student.metrics["best"]["validation_agreement"] > 0.8
    assert Predictor(student).answer(["a lovely film"]).probs.shape == (1, 2)


def test_labels_keep_their_types(both_readers: TrainedModel) -> None:
    target = both_readers.config.target.model_copy(update={"labels": (0, 1)})
    numbered = both_readers.config.model_copy(update={"target": target})
    student = distil(taught(dataclasses.replace(both_readers, config=numbered)), [documents()], of_student(epochs=1))
    assert labels_of(student.config.target).labels == (0, 1)


def test_a_student_can_teach(both_readers: TrainedModel) -> None:
    first = distil(taught(both_readers), [documents()], of_student())
    second = distil(taught(first, "runs/student"), [documents()], of_student())
    assert second.config.data["teacher"]["name"] == "runs/student"
    assert second.config.remembered == both_readers.config.remembered


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({}, 1.0),
        ({"logits": np.zeros((50, 3), np.float32)}, 1.0),
        ({"logits": np.zeros((3, 2), np.float32)}, 1.0),
        ({"logits": np.zeros((50, 2), np.int64)}, 1.0),
        ({"logits": np.full((50, 2), np.inf, np.float32)}, 1.0),
        ({"logits": np.zeros((50, 2), np.float32)}, "soon"),
    ],
)
def test_kept_answers_that_are_nonsense_are_asked_again(
    arrays: dict[str, Array], said: object, both_readers: TrainedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.training.distil._TEXTS_AT_ONCE", 50)
    out, given = tmp_path / "student", ([documents()], of_student(epochs=1))
    stop = Memory(after_step=lambda _: signal.raise_signal(signal.SIGINT))
    with pytest.raises(InterruptedTraining):
        distil(taught(both_readers), *given, out=out, observer=stop)
    (kept,) = out.rglob("teacher/0/*.safetensors")
    save_arrays(kept, arrays, said)
    resumed = distil(taught(both_readers), *given, out=out, resume=True)
    whole = distil(taught(both_readers), *given)
    for name, weights in whole.model.state_dict().items():
        assert torch.equal(weights, resumed.model.state_dict()[name])


def test_stopped_and_resumed_is_uninterrupted(
    both_readers: TrainedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("glassformer.training.distil._TEXTS_AT_ONCE", 50)
    teacher, asked = taught(both_readers), list[int]()
    scores = Teacher.scores

    def counted(self: Teacher, texts: Sequence[str]) -> FloatArray:
        asked.append(len(texts))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return scores(self, texts)

    monkeypatch.setattr(Teacher, "scores", counted)
    out, given = tmp_path / "student", ([documents()], of_student())
    with pytest.raises(KeyboardInterrupt):
        distil(teacher, *given, out=out)
    stop = Memory(after_step=lambda number: signal.raise_signal(signal.SIGINT) if number == 5 else None)
    with pytest.raises(InterruptedTraining):
        distil(teacher, *given, out=out, resume=True, observer=stop)
    assert asked == [50, 50, 50, 40]  # the first part was kept
    with pytest.raises(UsageError, match="the training texts changed"):
        distil(teacher, [documents(TEXTS[1:])], of_student(), out=out, resume=True)
    with pytest.raises(UsageError, match="temperature was 1"):
        distil(teacher, *given, out=out, resume=True, temperature=3.0)
    target = both_readers.config.target.model_copy(update={"temperature": 3.0})
    other = dataclasses.replace(both_readers, config=both_readers.config.model_copy(update={"target": target}))
    with pytest.raises(UsageError, match="the teacher changed"):
        distil(taught(other), *given, out=out, resume=True)
    distil(teacher, *given, out=out, resume=True)
    assert asked == [50, 50, 50, 40]
    whole = distil(teacher, *given)
    resumed = load_model(out, CLASSIFIER)
    for name, weights in whole.model.state_dict().items():
        assert torch.equal(weights, resumed.model.state_dict()[name])
    assert not (out / "checkpoint").exists()


def misused(match: str, teacher: Teacher, *given: Any, **settings: Any) -> None:
    with pytest.raises(UsageError, match=match):
        distil(teacher, *given, **settings)


def test_what_does_not_fit_is_refused(both_readers: TrainedModel) -> None:
    teacher, texts = taught(both_readers), [documents()]
    misused("there are no texts", teacher, [], of_student())
    misused("all its texts|no text is left", teacher, [documents(), documents(source="same.txt")], of_student())
    for odd in (0.0, 1e-300, 1000.0, float("nan")):
        misused(f"`temperature={odd:g}`: give a number from 0.05", teacher, texts, of_student(), temperature=odd)
    misused("`temperature=nan`", teacher, texts, of_student(), temperature=float("nan"))
    of_labels = {"class_weights": "balanced", "resample": "balanced", "label_smoothing": 0.1, "loss": "focal"}
    for setting in ({name: value} for name, value in of_labels.items()):
        (name,) = setting
        misused(f"training.{name}=.*leave it out", teacher, texts, of_student(**setting))
    counting = of_student().model_copy(update={"model": SMALL.model_copy(update={"counting": "auto"})})
    misused("a student is a transformer alone", teacher, texts, counting)
    misused("not pre-trained", teacher, texts, student_recipe("tiny", {"pretraining.max_steps": 3}))


def test_the_recipe_of_a_student() -> None:
    tiny = student_recipe("tiny", {"training.epochs": 3})
    assert (tiny.model.design, tiny.model.counting, tiny.training.epochs) == ("classifier", "none", 3)  # type: ignore[union-attr]
    assert tiny.validation.min_rows == 200
    assert student_recipe("vinh-recurrent").model.design == "vinh-recurrent"
    with pytest.raises(UsageError, match=r"`into='huge'`: neither a preset nor a recipe\. Presets: tiny, small, base"):
        student_recipe("huge")


def test_the_labels_of_a_table_must_be_those_of_the_teacher(both_readers: TrainedModel, tmp_path: Path) -> None:
    file = tmp_path / "stars.csv"
    file.write_text("review,stars\n" + "".join(f"a film {n},{n % 2 + 1}\n" for n in range(8)))
    with pytest.raises(UsageError, match=r"the label '1' .* was not seen in training"):
        taught(both_readers).read_labelled(str(file))
    file.write_text("review,stars\n" + "".join(f"a film {n},{('bad', 'good')[n % 2]}\n" for n in range(8)))
    read = taught(both_readers).read_labelled(str(file))
    assert isinstance(read, Table)
    assert read.frame["label"].to_list() == ["bad", "good"] * 4


def test_rows_that_differ_in_a_column_are_all_held_out_or_all_learned() -> None:
    rows = [f"{BEGIN}price={price}{END}film {number}" for number in range(40) for price in ("low", "high")]
    splits = _splits(admitted([documents(rows)]), SimpleNamespace(inputs=None), of_student())  # type: ignore[arg-type]
    assert splits.validation is not None
    learned, held_out = (table.frame["text"].to_list() for table in (splits.train, splits.validation))
    assert sorted([*learned, *held_out]) == sorted(rows)
    assert not set(map(without_columns, learned)) & set(map(without_columns, held_out))


def test_a_student_of_a_number_says_by_what_it_is_measured() -> None:
    found = {"validation_agreement": 0.974, "validation_r2": 0.5071}
    said = "its answers to held-out texts have R² 0.9740 with those of its teacher, runs/big"
    assert NumberStudent.measured(found, "runs/big") == f"{said}, and R² 0.5071 with the numbers of the table"
    assert NumberStudent.measured({"validation_agreement": 0.974}, "runs/big") == said


def numbered(count: int, first: int = 0) -> Table:
    """Texts with a number that their words give."""
    words = {"awful": 1.0, "fine": 5.0, "lovely": 9.0}
    texts = [f"the cast of film {number} was {list(words)[number % 3]}" for number in range(first, first + count)]
    return table(texts, [str(words[text.split()[-1]] + len(text) % 2 / 4) for text in texts])


def test_a_student_learns_the_number_of_its_teacher_and_needs_known_ones_for_intervals() -> None:
    trained = train_number(Sources(train=numbered(90)), recipe(epochs=2).model_copy(update={"model": SMALL}))
    teacher, more = taught(trained), numbered(120, 500)
    alone = distil(teacher, [documents(more.frame["text"])], of_student(epochs=20))
    best = alone.metrics["best"]
    assert best["validation_agreement"] > 0.9
    assert "validation_r2" not in best
    assert number_of(alone.config.target).scale == number_of(trained.config.target).scale
    assert "number_doubts" not in alone.metrics
    predictor = Predictor(alone)
    assert predictor.notes == [
        "there are no intervals: the right number of 0 held-out rows is known, and intervals of 90% need at least 9"
    ]
    fresh = numbered(30, 900).frame["text"].to_list()
    ours, theirs = (found.answer(fresh).values for found in (predictor, teacher.answering))
    assert np.corrcoef(ours, theirs)[0, 1] > 0.9
    known = distil(teacher, [], of_student(), labelled=more)
    held_out = Predictor(known).held_out
    assert held_out.rows == 24
    off = Predictor(known).answer(more.frame["text"].to_list()).values - more.frame["label"].cast(float).to_numpy()
    assert any(abs(held_out.distances[89] - each) < 1e-3 for each in abs(off)), "by the right numbers"
    assert known.metrics["best"]["validation_r2"] <= 1


def test_a_number_has_no_temperature() -> None:
    trained = train_number(Sources(train=numbered(90)), recipe(epochs=1).model_copy(update={"model": SMALL}))
    misused("`temperature=2`: a number has no", taught(trained), [documents()], of_student(), temperature=2.0)
    misused("answers with labels, not with a number", taught(trained), [documents()], student_recipe("vinh-recurrent"))


def test_ordered_classes_stay_ordered() -> None:
    rows = dataclasses.replace(opinions(80), order=("good", "bad"))
    trained = train_model(Sources(train=rows), recipe(epochs=1).model_copy(update={"model": SMALL}))
    student = distil(taught(trained), [documents()], of_student(epochs=1))
    assert (student.config.target.kind, labels_of(student.config.target).labels) == ("ordered", ("good", "bad"))
