"""Both readers of a run: fitted, weighed by held-out rows, cross-fitted on small tables, resumed."""

import dataclasses
import itertools
import re
import signal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from glassformer.data.arrays import IntArray
from glassformer.data.sources import Sources
from glassformer.data.splits import ValidationConfig
from glassformer.errors import UsageError
from glassformer.evaluation.evaluate_model import measure_model
from glassformer.evaluation.metrics import correct_rows
from glassformer.labels.learning_curve import right_rows
from glassformer.prediction import predictor as prediction
from glassformer.prediction.answering_config import Readers, of_several
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model, save_model
from glassformer.prediction.predictor import Predictor
from glassformer.prediction.reader_files import COUNTING_FILES
from glassformer.readers.counting import fitting
from glassformer.readers.counting.fitting import fit_counting
from glassformer.readers.encoder.prediction import EncoderReader
from glassformer.readers.joining import KNOWING, Joined, join
from glassformer.readers.reader import DECIDING, FittedReader, Fold
from glassformer.readers.rules.reader import RulesReader
from glassformer.readers.rules.saying import LabelSaying
from glassformer.targets.labels import training_readers as readers_module
from glassformer.targets.labels.target import labels_of
from glassformer.targets.labels.training_readers import each_alone, readers_in_words, weigh_readers
from glassformer.targets.probabilities import probabilities
from glassformer.training.card import model_card
from glassformer.training.loop import InterruptedTraining, NotANumberError
from glassformer.training.readers import LearnedReaders
from glassformer.training.recipe import Recipe, load_recipe
from glassformer.training.run import train_model
from tests.checkpoints import write_checkpoint
from tests.training.samples import SMALL, Memory, config, opinions, recipe, table
from tests.training.test_resume import figures

BOTH = SMALL.model_copy(update={"counting": "auto"})
NEW = ["the plot was awful", "a lovely end", "something else"]


def chosen(*, min_rows: int = 0, **training: Any) -> Recipe:
    validation = ValidationConfig(fraction=0.25, min_rows=min_rows)
    return Recipe(validation=validation, model=BOTH, training=config(**training))


def in_order(n_rows: int = 200) -> Sources:
    """Texts whose label only the order of their words tells, which runs of three words do not reach."""
    rng = np.random.default_rng(0)
    labels = np.arange(n_rows) % 2
    filler = ["so", "it", "was", "and", "then"]
    texts = []
    for label in labels:
        first, last = ("up", "down") if label else ("down", "up")
        before, middle, after = (" ".join(rng.choice(filler, size=size)) for size in (2, 3, 2))
        texts.append(f"{before} {first} {middle} {last} {after}")
    return Sources(train=table(texts, [("no", "yes")[label] for label in labels]))


def test_both_readers_add_up_to_the_answer() -> None:
    trained = train_model(Sources(train=opinions(80)), chosen(learning_rate=0.01, epochs=4))
    predictor = Predictor(trained)
    by_reader = predictor.reader_logits(NEW)
    assert list(by_reader) == ["counting", "transformer"]
    np.testing.assert_allclose(predictor.logits(NEW), by_reader["counting"] + by_reader["transformer"], atol=1e-6)
    answers = predictor.answer(NEW)
    together = probabilities(
        predictor.logits(NEW), temperature=labels_of(trained.config.target).temperature, multilabel=False
    )
    np.testing.assert_allclose(answers.probs, together, atol=1e-6)
    margins = answers.margins()
    ranked = np.sort(answers.probs, axis=1)
    np.testing.assert_allclose(sum(margins.values()), np.log(ranked[:, -1] / ranked[:, -2]), atol=1e-3)
    assert [set(record["readers"]) for record in answers.records()] == [{"counting", "transformer"}] * 3


def test_the_rows_of_the_epochs_are_those_of_the_transformer_alone() -> None:
    """Every word occurs once. Pieces of the words tell the label, but the transformer does not know any."""
    rows = [f"{'good' if number % 2 else 'bad'}{number}" for number in range(120)]
    given = Sources(train=table(rows, [("yes", "no")[number % 2] for number in range(120)]))
    both = train_model(given, chosen(learning_rate=1e-30, epochs=1)).metrics
    plain = chosen(learning_rate=1e-30, epochs=1).model_copy(update={"model": SMALL})
    alone = train_model(given, plain).metrics
    for name in ("validation_loss", "validation_accuracy"):
        assert both["best"][name] == alone["best"][name]
    assert both["best"]["calibrated_loss"] < alone["best"]["calibrated_loss"] - 0.1
    assert both["readers"]["accuracy"] > both["best"]["validation_accuracy"]


def test_a_transformer_that_learned_nothing_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    trained = train_model(Sources(train=opinions(80)), chosen(learning_rate=1e-30, epochs=1), observer=memory)
    assert trained.config.readers is not None
    assert trained.config.readers.transformer.weight == 0
    assert "do not show that the transformer helps" in memory.messages[-1]
    monkeypatch.setattr(prediction, "score", None)
    assert trained.counting is not None
    expected = trained.config.readers.counting.weight * trained.counting.scores(NEW)
    np.testing.assert_allclose(Predictor(trained).logits(NEW), expected)


@pytest.mark.parametrize(("min_rows", "rows"), [(0, 20), (2000, 80)], ids=["validation rows", "cross-fitted"])
def test_without_epochs_counting_answers_alone(min_rows: int, rows: int, tmp_path: Path) -> None:
    memory = Memory()
    settings = chosen(min_rows=min_rows, epochs=0)
    trained = train_model(Sources(train=opinions(80)), settings, out=tmp_path, observer=memory)
    assert not memory.steps
    assert not memory.epochs
    assert "cross-fitting: training" not in "".join(memory.messages)
    assert memory.messages[-1].endswith("No transformer was trained, so the model answers by counting")
    found = trained.metrics["readers"]
    assert (found["held_out_rows"], found["transformer_accuracy"], found["gain_in_nats"]) == (rows, None, None)
    beside = train_model(Sources(train=opinions(80)), chosen(min_rows=min_rows, learning_rate=1e-30, epochs=1))
    assert trained.config.readers is not None
    assert beside.config.readers is not None
    assert trained.config.readers.counting == beside.config.readers.counting
    assert trained.config.answers_by_counting
    kept = load_model(tmp_path, CLASSIFIER)
    assert np.array_equal(Predictor(kept).logits(NEW), Predictor(beside).logits(NEW))
    card = model_card(kept)
    assert "no transformer was trained" in card
    assert f"accuracy {found['accuracy']:.4f}" in card


@pytest.mark.slow
@pytest.mark.parametrize("min_rows", [0, 2000])
def test_what_only_the_order_of_words_tells_is_learned_beside_a_reader_that_cannot(min_rows: int) -> None:
    trained = train_model(
        in_order(), chosen(learning_rate=0.03, epochs=9, weight_decay=0.0, token_dropout=0.0, min_rows=min_rows)
    )
    new = in_order(300).train.frame
    answers = Predictor(trained).answer(new["text"].to_list()).predictions()
    assert np.mean([answer == label for answer, label in zip(answers, new["label"], strict=True)]) > 0.95
    assert trained.metrics["readers"]["counting_accuracy"] < 0.75
    assert trained.config.readers is not None
    assert trained.config.readers.transformer.weight > 0


def test_the_counting_reader_is_fitted_to_all_rows_and_weighed_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text has a word of its own: a reader that has seen it knows its label by heart."""
    monkeypatch.setattr(fitting, "FEWEST_TEXTS", 1)
    texts = [f"word{number} here" for number in range(60)]
    labels = np.random.default_rng(1).permutation(60) % 2
    trained = train_model(Sources(train=table(texts, [("no", "yes")[label] for label in labels])), chosen(epochs=1))
    assert trained.counting is not None
    assert (trained.counting.scores(texts).argmax(axis=1) == labels).all()
    assert trained.metrics["readers"]["counting_accuracy"] < 0.9


def test_weights_are_those_of_stacking_if_the_transformer_is_worth_it() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 2
    signal = 2.0 * np.eye(2)[labels]
    held_out, transformer = ((signal + 2 * rng.normal(size=(400, 2))).astype(np.float32) for _ in range(2))
    reader = fit_counting("tfidf", ["a", "b"] * 10, np.arange(20) % 2, n_classes=2, folds=[_fold()]).reader
    counting = LearnedReaders(
        fitted={"counting": FittedReader(reader=reader, held_out=held_out, seconds=1.0)},
        folds=[_fold()],
        truth=labels,
        row_weights=np.ones(400, np.float32),
    )
    readers, temperature, found, _ = weigh_readers(counting, transformer)
    expected = join([held_out, transformer], labels, multilabel=False).weights
    assert (readers.counting.weight, readers.transformer.weight) == expected
    assert temperature == pytest.approx(1, abs=0.1)
    right = correct_rows(expected[0] * held_out + expected[1] * transformer, labels)
    assert found["accuracy"] == pytest.approx(right.mean())
    noise = rng.normal(size=(400, 2)).astype(np.float32)
    readers, _, found, _ = weigh_readers(counting, noise)
    assert readers.transformer.weight == 0
    assert found["gain_in_nats"] < 3.32


@pytest.mark.parametrize(("rate", "weights", "trusted"), [
    (3.2, 1.0, False), (3.5, 1.0, True),
    (14.0, 5.0, False), (14.8, 5.0, True),  # of weights 1 and 5 the sum of squares is 13/3 of the sum
])  # fmt: skip
def test_the_gain_must_be_beyond_chance(
    rate: float, weights: float, trusted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weighted log likelihood of rows with unequal weights varies more."""
    losses = iter([100.0, 100.0 - rate])
    monkeypatch.setattr(
        readers_module, "join", lambda logits, *_, **__: Joined(weights=(0.5,) * len(logits), loss=next(losses))
    )
    reader = fit_counting("tfidf", ["a", "b"] * 10, np.arange(20) % 2, n_classes=2, folds=[_fold()]).reader
    held_out = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    counting = LearnedReaders(
        fitted={"counting": FittedReader(reader=reader, held_out=held_out, seconds=1.0)},
        folds=[_fold()],
        truth=np.arange(60) % 2,
        row_weights=np.where(np.arange(60) % 2, weights, 1.0).astype(np.float32),
    )
    readers, *_ = weigh_readers(counting, held_out)
    assert (readers.transformer.weight > 0) is trusted


def test_counting_that_is_worse_than_chance_says_almost_nothing() -> None:
    reader = fit_counting("tfidf", ["a", "b"] * 10, np.arange(20) % 2, n_classes=2, folds=[_fold()]).reader
    labels = np.arange(40) % 2
    wrong = (3.0 * np.eye(2)[1 - labels]).astype(np.float32)
    fitted = FittedReader(reader=reader, held_out=wrong, seconds=1.0)
    counting = LearnedReaders(
        fitted={"counting": fitted}, folds=[_fold()], truth=labels, row_weights=np.ones(40, np.float32)
    )
    readers, *_ = weigh_readers(counting, None)
    assert 0 < readers.counting.weight <= 0.001


def test_rules_are_added_to_calibrated_scores_and_rows_that_they_decide_have_no_vote() -> None:
    counts = fit_counting("tfidf", ["a", "b"] * 10, np.arange(20) % 2, n_classes=2, folds=[_fold()]).reader
    saying = LabelSaying(labels=("no", "yes"), several=False)
    rules = RulesReader.of('"film" -> no 2\n"plot" -> yes always', saying, "rules.txt")
    rng, labels = np.random.default_rng(0), np.arange(80) % 2
    knows = (2.0 * np.eye(2)[labels] + 0.8 * rng.normal(size=(80, 2))).astype(np.float32)
    said = rules.scores(["film", "plot", "", ""] * 20)

    def weighed(rows: IntArray) -> tuple[Readers, float]:
        scores = {"counting": (counts, knows), "rules": (rules, said)}
        fitted = {
            name: FittedReader(reader=each, held_out=held_out[rows], seconds=0.0)
            for name, (each, held_out) in scores.items()
        }
        ones = np.ones(len(rows), np.float32)
        learned = LearnedReaders(fitted=fitted, folds=[_fold()], truth=labels[rows], row_weights=ones)
        return weigh_readers(learned, None)[:2]

    readers, temperature = weighed(np.arange(80))
    assert readers["rules"].weight == readers["rules"].temperature == temperature != 1
    assert list(readers.root) == ["counting", "rules", "transformer"]
    open_ones, _ = weighed(np.flatnonzero(np.abs(said).max(axis=1) < DECIDING))
    assert readers["counting"] == open_ones["counting"]


def test_a_reader_that_leads_weighs_more_by_few_rows() -> None:
    reader = fit_counting("tfidf", ["a", "b"] * 10, np.arange(20) % 2, n_classes=2, folds=[_fold()]).reader
    nothing: Any = None
    encoder = EncoderReader(encoder=nothing, weights=np.zeros((1, 2), np.float32), bias=np.zeros(2, np.float32))
    labels = np.arange(8) % 2
    knows = np.eye(2, dtype=np.float32)[labels]
    fitted = {
        name: FittedReader(reader=each, held_out=knows, seconds=0.0, odds=odds)
        for name, each, odds in (("counting", reader, None), ("encoder", encoder, KNOWING))
    }
    learned = LearnedReaders(fitted=fitted, folds=[_fold()], truth=labels, row_weights=np.ones(8, np.float32))
    weights = weigh_readers(learned, None)[0].weights
    lead = 0.88 * 100 / 108  # of eight rows; they know the same
    assert weights["encoder"] - weights["counting"] == pytest.approx(lead, abs=0.05)


@pytest.mark.parametrize("several", [False, True])
def test_the_scores_of_readers_are_shifted_so_that_their_sum_has_the_prior_once(several: bool) -> None:
    rng = np.random.default_rng(0)
    labels = (rng.random((40, 2)) < [0.1, 0.6]).astype(np.uint8) if several else (np.arange(40) < 8).astype(int)
    texts = [str(rng.choice(["good", "bad", "so so"])) for _ in range(40)]
    readers = {
        "counting": fit_counting("tfidf", texts, labels, n_classes=2, folds=[_fold()]).reader,
        "body": fit_counting("nb", texts, labels, n_classes=2, folds=[_fold()]).reader,
    }
    fitted = {
        name: FittedReader(reader=each, held_out=each.scores(texts), seconds=0.0) for name, each in readers.items()
    }
    learned = LearnedReaders(fitted=fitted, folds=[_fold()], truth=labels, row_weights=np.ones(40, np.float32))
    weights, _, found, shifted = weigh_readers(learned, None)
    often = labels.sum(axis=0) if several else np.bincount(labels)
    prior = np.log(often + 0.5) - (np.log(40 - often + 0.5) if several else np.log(often + 0.5).mean())
    joined = join([*learned.held_out.values()], labels, multilabel=several, prior=prior)
    assert abs(joined.prior) > 0.05
    more = [weights[name].weight * (shifted.held_out[name] - learned.held_out[name]) for name in readers]
    np.testing.assert_allclose(sum(more), np.tile(joined.prior * prior, (40, 1)), atol=1e-5)
    for name, each in shifted.fitted.items():
        np.testing.assert_allclose(each.reader.scores(texts), each.held_out, atol=1e-5)
        by_itself = weights[name].alone(weights[name].weight * each.held_out)
        np.testing.assert_allclose(by_itself, weights[name].weight * learned.held_out[name], atol=1e-5)
    for name in readers:
        own = right_rows(learned.held_out[name], labels)
        assert found[f"{name}_accuracy"] == own.mean()


@pytest.mark.parametrize(("weight", "kept"), [(1e-6, 0.001), (0.4, 0.4)])
def test_no_shift_is_huge(weight: float, kept: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is divided by the weight of the only reader that can be shifted."""
    monkeypatch.setattr(
        readers_module,
        "join",
        lambda logits, *_, **__: Joined(weights=(weight, 1.0)[: len(logits)], loss=100.0 / len(logits), prior=-0.5),
    )
    labels = (np.arange(40) < 4).astype(int)
    reader = fit_counting("tfidf", ["a", "b"] * 20, labels, n_classes=2, folds=[_fold()]).reader
    scores = np.random.default_rng(0).normal(size=(2, 40, 2)).astype(np.float32)
    learned = LearnedReaders(
        fitted={"counting": FittedReader(reader=reader, held_out=scores[0], seconds=0.0)},
        folds=[_fold()],
        truth=labels,
        row_weights=np.ones(40, np.float32),
    )
    readers, _, _, shifted = weigh_readers(learned, scores[1])
    assert readers.weights == {"counting": kept, "transformer": 1.0}
    more = shifted.held_out["counting"] - scores[0]
    assert np.abs(more).max() < 1_000
    half_of_prior = -0.5 * np.log([36.5 / 4.5, 4.5 / 36.5]) / 2
    np.testing.assert_allclose(kept * more, np.tile(half_of_prior, (40, 1)), atol=1e-5)


@pytest.mark.parametrize("weight", [1e-6, 0.4])
def test_what_the_only_reader_says_alone_is_the_answer(weight: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its accuracy is not another one than that of the model, although its scores are shifted."""
    found = Joined(weights=(weight,), loss=1.0, prior=2.0)
    monkeypatch.setattr(readers_module, "join", lambda *_, **__: found)
    labels = (np.arange(40) < 12).astype(int)
    reader = fit_counting("tfidf", ["a", "b"] * 20, labels, n_classes=2, folds=[_fold()]).reader
    scores = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)
    learned = LearnedReaders(
        fitted={"counting": FittedReader(reader=reader, held_out=scores, seconds=0.0)},
        folds=[_fold()],
        truth=labels,
        row_weights=np.ones(40, np.float32),
    )
    readers, _, figures, shifted = weigh_readers(learned, None)
    weighted = readers["counting"].weight * shifted.held_out["counting"]
    assert right_rows(scores, labels).mean() != right_rows(weighted, labels).mean()
    assert figures["counting_accuracy"] == figures["accuracy"] == right_rows(weighted, labels).mean()
    assert np.array_equal(readers["counting"].alone(weighted), weighted)


def test_a_shift_of_other_labels_is_refused() -> None:
    rows = table(["good film", "bad film"] * 10 + ["good plot"] * 4, ["yes", "no"] * 10 + ["yes"] * 4)
    told = train_model(Sources(train=rows), chosen(epochs=0)).config.model_dump(mode="json")
    told["readers"]["counting"]["shift"] = [0.1, 0.2, 0.3]
    with pytest.raises(ValueError, match="the shift of counting has 3 values for 2 labels"):
        FolderConfig.model_validate(told)


def test_a_reader_that_is_right_more_often_than_all_together_is_named() -> None:
    reader = fit_counting("tfidf", ["a", "b"] * 10, np.arange(20) % 2, n_classes=2, folds=[_fold()]).reader
    labels = np.arange(40) % 2
    sure = np.eye(2, dtype=np.float32)[labels]
    flipped = np.eye(2, dtype=np.float32)[np.where(np.arange(40) < 12, 1 - labels, labels)]
    for other, told in ((sure, False), (4 * flipped, True)):
        fitted = {
            name: FittedReader(reader=reader, held_out=scores, seconds=0.0)
            for name, scores in (("counting", 0.1 * sure), ("body", other))
        }
        learned = LearnedReaders(fitted=fitted, folds=[_fold()], truth=labels, row_weights=np.ones(40, np.float32))
        readers, _, figures, _ = weigh_readers(learned, None)
        assert figures["more_often_right"] == ("counting" if told else None)
        said = "The weights give the lowest log loss, but counting alone is right more often here. "
        assert (said in readers_in_words(readers, figures)) == told
    accuracies = {"counting_accuracy": 0.9, "transformer_accuracy": 0.7, "accuracy": 0.8}
    figures = {**accuracies, "gain_in_nats": 5.0, "held_out_rows": 40, "more_often_right": "counting"}
    assert each_alone(Readers.weighing({"counting": 1.0, "transformer": 0.5}), figures).partition(", both ")[2] == (
        "together 0.8000, with a log loss 0.1250 lower than that of counting. "
        "The weights give the lowest log loss, but counting alone is right more often here"
    )


def test_a_reader_without_weight_is_not_one_of_all_that_answer() -> None:
    three = ["counting", "body", "transformer"]
    assert of_several(three, {"body": 0.4, "transformer": 1.0}) == "the body and the transformer"
    assert of_several(three, dict.fromkeys(three, 0.5)) == "all"
    assert of_several(three[1:], dict.fromkeys(three, 0.5)) == "both"


def test_if_the_held_out_rows_contradict_all_readers_the_first_one_answers() -> None:
    reader = fit_counting("tfidf", ["a", "b"] * 10, np.arange(20) % 2, n_classes=2, folds=[_fold()]).reader
    labels = np.arange(40) % 2
    wrong = (3.0 * np.eye(2)[1 - labels]).astype(np.float32)
    fitted = FittedReader(reader=reader, held_out=wrong, seconds=1.0)
    both = LearnedReaders(
        fitted={"counting": fitted, "body": fitted}, folds=[_fold()], truth=labels, row_weights=np.ones(40, np.float32)
    )
    readers, *_ = weigh_readers(both, None)
    assert {name: weight for name, weight in readers.weights.items() if weight} == {"counting": pytest.approx(0.001)}


def test_the_groups_of_the_rows_reach_the_counting_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def fit(*arguments: Any, groups: Any, **settings: Any) -> FittedReader:
        given.append(groups)
        return fit_counting(*arguments, groups=groups, **settings)

    monkeypatch.setattr(readers_module, "fit_counting", fit)
    rows = opinions(80)
    groups = [f"author {number // 4}" for number in range(80)]
    grouped = dataclasses.replace(rows, frame=rows.frame.with_columns(group=pl.Series(groups)))
    trained = train_model(Sources(train=grouped), chosen(epochs=1))
    assert len(given[0]) == trained.config.data["rows"]
    assert len(set(given[0].tolist())) == 20


def _fold() -> Fold:
    return Fold(learned=np.arange(16), held_out=np.arange(16, 20))


@pytest.mark.usefixtures("every_training")
def test_a_small_table_is_cross_fitted() -> None:
    memory = Memory()
    trained = train_model(Sources(train=opinions(40)), chosen(min_rows=2000, epochs=1), observer=memory)
    assert trained.config.data["rows"] == 40
    assert trained.metrics["readers"]["held_out_rows"] == 40
    assert trained.metrics["readers"]["folds"] == 4
    assert trained.metrics["held_out_answers"]["rows"] == 40
    assert [m for m in memory.messages if m.startswith("cross-fitting")] == [
        "cross-fitting: each of the 40 rows is held out once, in 4 parts",
        *(f"cross-fitting: training {number} of 5, without part {number} of 4" for number in range(1, 5)),
        "cross-fitting: training 5 of 5, on all rows",
    ]
    assert len(memory.epochs) == 1
    assert [(report.training, report.trainings) for report in memory.steps] == [
        *((number, 5) for number in range(1, 5) for _ in range(3)),
        *[(5, 5)] * 4,
    ]
    for end in memory.steps[2::3][:4]:
        assert end.seconds_left == pytest.approx((5 - end.training) * end.seconds)  # as much for each that follows


def test_copies_of_a_row_are_in_one_part_of_cross_fitting() -> None:
    """Each text has a word of its own and stands twice: a reader that has seen its copy knows its label."""
    texts = [f"word{number} here" for number in range(60)] * 2
    labels = np.tile(np.random.default_rng(1).permutation(60) % 2, 2)
    rows = Sources(train=table(texts, [("no", "yes")[label] for label in labels]))
    trained = train_model(rows, chosen(min_rows=2000, epochs=1))
    assert trained.metrics["readers"]["counting_accuracy"] < 0.75


def test_a_table_that_repeats_few_texts_is_cross_fitted_row_by_row() -> None:
    texts = [f"word{number} here" for number in range(20)] * 4
    rows = Sources(train=table(texts, [("no", "yes")[number % 2] for number in range(20)] * 4))
    watcher = Memory()
    trained = train_model(rows, chosen(min_rows=2000, epochs=1), observer=watcher)
    assert trained.metrics["readers"]["counting_accuracy"] > 0.9
    assert any("the 80 rows repeat 20 texts" in line for line in watcher.messages)


@pytest.mark.usefixtures("every_training")
def test_cross_fitting_leaves_the_training_as_it_is() -> None:
    crossed = train_model(Sources(train=opinions(40)), chosen(min_rows=2000))
    plain = chosen(min_rows=2000).model_copy(update={"model": SMALL})
    alone = train_model(Sources(train=opinions(40)), plain)
    assert figures(crossed.metrics["history"]) == figures(alone.metrics["history"])
    assert alone.config.readers is None


def interrupt_after(steps: int) -> Memory:
    """Interrupt after so many steps of all trainings together."""
    counted = itertools.count(1)
    return Memory(lambda _: signal.raise_signal(signal.SIGINT) if next(counted) == steps else None)


def test_a_body_that_nobody_named_reads_if_it_knows_the_words() -> None:
    rows, memory = opinions(80), Memory()
    backwards = pl.col("text").map_elements(lambda text: " ".join(word[::-1] for word in text.split()), pl.String)
    strange = dataclasses.replace(rows, frame=rows.frame.with_columns(text=backwards))
    for given, kept in ((rows, ["counting", "body"]), (strange, ["counting"])):
        trained = train_model(Sources(train=given), of_body("auto"), observer=memory)
        assert list(trained.readers) == kept
    (said,) = [message for message in memory.messages if "of the words of these texts" in message]
    assert re.fullmatch(r"the body `english` knows \d+% of the words of these texts, so it is left out", said)
    named = train_model(Sources(train=strange), of_body("english"), observer=memory)
    assert named.config.readers is not None
    assert "body" in named.config.readers.root, "who names it gets it"
    (said,) = [message for message in memory.messages if "another language" in message]
    assert re.fullmatch(r"the body `english` knows \d+% of .*; is it of another language\? It is used, as .*", said)
    assert of_body("auto", counting="none").model.beside == ()


def test_beside_a_body_naive_bayes_has_more_weight() -> None:
    share = {}
    for body in ("none", "english"):
        counting = train_model(Sources(train=opinions(24)), of_body(body, counting="auto")).counting
        assert counting is not None
        weights = {way: fitted["weight"] for way, fitted in counting.settings["ways"].items()}
        share[body] = weights["nb"] / sum(weights.values())
    assert share["none"] < share["english"] - 0.1


def of_body(body: str, *, counting: str = "tfidf") -> Recipe:
    """A run without a transformer."""
    found = chosen(min_rows=0, epochs=0 if counting != "none" else 1)
    return found.model_copy(update={"model": BOTH.model_copy(update={"body": body, "counting": counting})})


@cache
def whole_run(min_rows: int) -> TrainedModel:
    """A run that nothing stopped. Each of the four parts of cross-fitting takes 15 steps."""
    return train_model(Sources(train=opinions(60)), resumable(min_rows))


def resumable(min_rows: int) -> Recipe:
    return chosen(min_rows=min_rows, epochs=3, learning_rate=0.01)


@pytest.mark.usefixtures("every_training")
@pytest.mark.parametrize(
    ("min_rows", "steps", "finished"),
    [(0, 1, 0), (0, 9, 0), (2000, 1, 0), (2000, 22, 1), (2000, 55, 3), (2000, 70, 4)],
    ids=["first step", "later", "first step of part 1", "part 2", "part 4", "after cross-fitting"],
)
def test_a_resumed_run_is_the_uninterrupted_one(min_rows: int, steps: int, finished: int, tmp_path: Path) -> None:
    """`finished` is the number of finished parts when the run is interrupted."""
    rows, settings, whole = Sources(train=opinions(60)), resumable(min_rows), whole_run(min_rows)
    with pytest.raises(InterruptedTraining):
        train_model(rows, settings, out=tmp_path / "out", observer=interrupt_after(steps))
    assert len(list((tmp_path / "out" / "checkpoint").glob("fold-*/held-out.safetensors"))) == finished
    with pytest.raises(UsageError, match="unfinished run"):
        load_model(tmp_path / "out", CLASSIFIER)
    memory = Memory()
    resumed = train_model(rows, settings, out=tmp_path / "out", resume=True, observer=memory)
    if min_rows:
        before = [f"resumed after {finished} of 5 trainings"] * (finished > 0)
        within = [f"resumed at step {steps - 15 * finished + 1}"]
        trainings = [f"training {number} of 5" for number in range(finished + 1, 6)]
        told = [text for text in memory.messages if "of 5" in text or "resumed" in text]
        said = [re.sub(r"^cross-fitting: |, .*| \(epoch.*", "", text) for text in told]
        assert said == [*before, trainings[0], *within, *trainings[1:]]
    assert figures(resumed.metrics["history"]) == figures(whole.metrics["history"])
    theirs = whole.model.state_dict()
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in resumed.model.state_dict().items())
    assert resumed.config.readers == whole.config.readers
    assert np.array_equal(Predictor(resumed).logits(NEW), Predictor(whole).logits(NEW))
    assert not (tmp_path / "out" / "checkpoint").exists()


def test_a_resumed_run_knows_what_its_encoder_is_worth(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "encoder", "bert", "Model", num_hidden_layers=1)
    recipe = resumable(2000)
    body = {"body": f"hf:{tmp_path / 'encoder'}"}
    recipe = recipe.model_copy(update={"model": recipe.model.model_copy(update=body)})
    table = opinions(60)
    table = dataclasses.replace(table, frame=table.frame.with_columns(text="все хорошо и плохо: " + pl.col("text")))
    rows = Sources(train=table)
    whole = train_model(rows, recipe)
    for damaged in (None, "", "[]", '{"odds": -1, "doubts": []}', '{"odds": 4, "doubts": [7]}'):
        with pytest.raises(InterruptedTraining):
            train_model(rows, recipe, out=tmp_path / "out", observer=interrupt_after(1), overwrite=True)
        if damaged is not None:
            (tmp_path / "out" / "checkpoint" / "encoder" / "about.json").write_text(damaged)
        resumed = train_model(rows, recipe, out=tmp_path / "out", resume=True, worded=lambda found: found)
        assert resumed.config.readers == whole.config.readers
        assert resumed.config.data["encoder_doubts"] == whole.config.data["encoder_doubts"]
    (doubt,) = whole.config.data["encoder_doubts"]
    assert re.fullmatch(r"\d\d% of the tokens of these texts are unknown to the encoder; .+", doubt)
    for said in ("README.md", "report.html"):
        assert doubt in (tmp_path / "out" / said).read_text(encoding="utf-8")
    measured, _ = measure_model(Predictor(resumed), tmp_path / "out", table, "the table is gone", split="the whole")
    assert doubt in measured.notes


def test_other_groups_or_weights_cannot_resume(tmp_path: Path) -> None:
    rows = opinions(60)

    def given(column: str, shift: int) -> Sources:
        values = pl.Series([float((number + shift) // 6 + 1) for number in range(60)])
        return Sources(train=dataclasses.replace(rows, frame=rows.frame.with_columns(values.alias(column))))

    for column, words in (("group", "the groups of the training rows changed"), ("weight", "the weights of the")):
        out = tmp_path / column
        with pytest.raises(InterruptedTraining):
            train_model(given(column, 0), chosen(min_rows=2000), out=out, observer=interrupt_after(3))
        with pytest.raises(UsageError, match=words):
            train_model(given(column, 3), chosen(min_rows=2000), out=out, resume=True)
        train_model(given(column, 0), chosen(min_rows=2000), out=out, resume=True)


def test_divergence_in_cross_fitting_says_what_to_do(tmp_path: Path) -> None:
    wild = chosen(min_rows=2000, learning_rate=1e3, optimizer="sgd", clip=1e30, warmup=0.0)
    rows = Sources(train=opinions(60))
    train_model(rows, chosen(min_rows=2000, epochs=1), out=tmp_path)
    answers = Predictor.load(tmp_path).logits(NEW)
    words = (
        r"training 1 of 5: training stopped .*try a smaller one .* Start again with `overwrite=True`: the unfinished"
    )
    for resume in (False, True):
        with pytest.raises(NotANumberError, match=words):
            train_model(rows, wild, out=tmp_path, overwrite=not resume, resume=resume)
    assert np.array_equal(Predictor.load(tmp_path).logits(NEW), answers)
    train_model(rows, chosen(min_rows=2000, epochs=1), out=tmp_path, overwrite=True)
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.usefixtures("every_training")
@pytest.mark.parametrize("part", ["counting", "fold-1"])
def test_damaged_logits_of_an_interrupted_run_are_computed_again(part: str, tmp_path: Path) -> None:
    rows, settings, whole = Sources(train=opinions(60)), resumable(2000), whole_run(2000)
    with pytest.raises(InterruptedTraining):
        train_model(rows, settings, out=tmp_path, observer=interrupt_after(22))
    file = tmp_path / "checkpoint" / part / "held-out.safetensors"
    file.write_bytes(file.read_bytes()[:50])
    resumed = train_model(rows, settings, out=tmp_path, resume=True)
    assert resumed.config.readers == whole.config.readers


@pytest.mark.parametrize(("min_rows", "kind"), [(0, "validation"), (2000, "cross-validated")])
def test_a_table_that_teaches_nothing_is_named(min_rows: int, kind: str) -> None:
    texts = [f"word{number} here" for number in range(60)]
    labels = np.where(np.random.default_rng(1).permutation(60) % 3 == 0, "rare", "frequent").tolist()
    memory = Memory()
    train_model(Sources(train=table(texts, labels)), chosen(min_rows=min_rows, epochs=1), observer=memory)
    assert re.match(rf"warning: the {kind} accuracy of 0\.\d+ is not above that of always", memory.messages[-1])
    memory = Memory()
    train_model(Sources(train=opinions(60)), chosen(min_rows=min_rows, epochs=1), observer=memory)
    assert "warning" not in memory.messages[-1]


def test_a_card_gives_the_accuracy_of_the_answers() -> None:
    """The epoch was chosen with the weights that fit both readers best, but a silent transformer is not asked."""
    trained = train_model(Sources(train=opinions(80)), chosen(learning_rate=1e-30, epochs=1))
    trained.metrics["best"]["validation_accuracy"] = 0.123
    assert f"accuracy {trained.metrics['readers']['accuracy']:.4f}" in model_card(trained)
    assert "0.123" not in model_card(trained)


def test_a_card_begins_with_what_answers() -> None:
    trained = train_model(Sources(train=opinions(80)), chosen(learning_rate=1e-30, epochs=1))
    facts = model_card(trained).partition("- ")[2]
    order = ["Answers by counting n-grams alone", "accuracy", "Its transformer, which is not asked, has", "parameters"]
    assert [facts.index(words) for words in order] == sorted(facts.index(words) for words in order)


def test_a_reader_that_is_not_asked_has_a_plain_zero() -> None:
    both = [["a", "b"], ["a"], [], ["b"]] * 15
    texts = [f"{' and '.join(labels) or 'nothing'} in text {number}" for number, labels in enumerate(both)]
    trained = train_model(Sources(train=table(texts, both)), chosen(learning_rate=1e-30, epochs=1))
    shares = [str(record["readers"]["transformer"]) for record in Predictor(trained).answer(["nothing"]).records()]
    assert shares == ["0.0"]


def test_a_model_folder_keeps_both_readers_and_forgets_them_with_the_model(tmp_path: Path) -> None:
    trained = train_model(Sources(train=opinions(60)), chosen(learning_rate=0.01), out=tmp_path)
    assert all((tmp_path / name).is_file() for name in COUNTING_FILES)
    assert np.array_equal(Predictor.load(tmp_path).logits(NEW), Predictor(trained).logits(NEW))
    alone: TrainedModel = train_model(Sources(train=opinions(60)), recipe(epochs=1))
    save_model(tmp_path, alone, card="")
    assert not any((tmp_path / name).exists() for name in COUNTING_FILES)
    assert list(Predictor.load(tmp_path).reader_logits(NEW)) == ["transformer"]


def test_several_labels_per_text_and_weights_of_classes() -> None:
    both = [["a", "b"], ["a"], [], ["b"]] * 15
    texts = [f"{' and '.join(labels) or 'nothing'} in text {number}" for number, labels in enumerate(both)]
    trained = train_model(
        Sources(train=table(texts, both)), chosen(class_weights="balanced", learning_rate=0.01), out=None
    )
    assert Predictor(trained).answer(["a in text", "nothing in text"]).predictions()[1] == []
    margins = Predictor(trained).answer(["a in text"]).margins()
    assert sum(float(margin[0]) for margin in margins.values()) > 0


@pytest.mark.parametrize(
    ("overrides", "min_rows"),
    [({}, 2000), ({"model.counting": "none"}, 200), ({"model.counting": "none", "validation.min_rows": 7}, 7),
     ({"validation.min_rows": 7}, 7)],
)  # fmt: skip
def test_without_a_counting_reader_smaller_tables_are_split(overrides: dict[str, Any], min_rows: int) -> None:
    assert load_recipe(overrides=overrides).validation.min_rows == min_rows
    assert load_recipe("default", overrides=overrides).validation.min_rows == min_rows


def test_a_transformer_that_answers_alone_is_said() -> None:
    figures = {
        "counting_accuracy": 0.5,
        "transformer_accuracy": 0.75,
        "accuracy": 0.75,
        "gain_in_nats": 20.0,
        "held_out_rows": 40,
    }
    said = each_alone(Readers.weighing({"counting": 0.0, "transformer": 1.0}), figures)
    assert said == (
        "counting alone 0.5000, the transformer alone 0.7500. No other reader adds to it, so the model answers by the "
        "transformer alone"
    )
