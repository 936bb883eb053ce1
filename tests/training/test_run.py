import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import torch

from glassformer.data.files import aside_of
from glassformer.data.locks import LOCK_FILE
from glassformer.data.sources import SourceConfig, Sources
from glassformer.data.splits import Splits, ValidationConfig
from glassformer.data.table import Table
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.build import parameter_count
from glassformer.models.classifier import Classifier
from glassformer.models.model_config import ModelConfig
from glassformer.prediction.calibration import fit_temperature
from glassformer.prediction.folder_config import FolderConfig
from glassformer.prediction.model_folder import CLASSIFIER, load_model
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.held_out import HeldOutAnswers
from glassformer.targets.labels.target import labels_of
from glassformer.targets.labels.training import from_memory
from glassformer.targets.number.held_out import unseen_figures
from glassformer.training import preparation
from glassformer.training.card import model_card
from glassformer.training.loop import NotANumberError
from glassformer.training.out_folder import prepare_out
from glassformer.training.preparation import Prepared
from glassformer.training.recipe import Recipe, load_recipe
from glassformer.training.run import train_model
from tests.training.samples import SMALL, Memory, opinions, recipe, table

OURS = '{"format": "glassformer-classifier"}'


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_new_or_empty_folder_is_fine(overwrite: bool, tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()  # what is left where a run is killed in its first moment
    for out in (tmp_path / "new", tmp_path):
        prepare_out(out, resume=False, overwrite=overwrite)
    assert not (tmp_path / "new").exists(), "looking must not make the folder"


@pytest.mark.parametrize(
    ("content", "resume", "words"),
    [
        (["config.json"], False, "already holds a model; .*`overwrite=True`"),
        (
            ["checkpoint/run.json"],
            False,
            "`resume=True` continues it, `overwrite=True` starts again",
        ),
        (["config.json", "checkpoint/run.json"], False, "holds an unfinished run"),
        (["thesis.doc"], False, "other files in it"),
        (["config.json"], True, "`resume=True`: .* is finished"),
        ([], True, "`resume=True`: .* holds no unfinished run"),
        (["thesis.doc"], True, "`resume=True`: .* holds no unfinished run"),
    ],
)
def test_an_earlier_run_is_not_lost(content: list[str], resume: bool, words: str, tmp_path: Path) -> None:
    for name in content:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(OURS)
    with pytest.raises(UsageError, match=words):
        prepare_out(tmp_path, resume=resume, overwrite=False)
    if not resume and "thesis.doc" not in content:
        prepare_out(tmp_path, resume=False, overwrite=True)


def test_a_kill_while_the_first_file_is_written_does_not_block_the_next_run(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").mkdir()
    (aside_of(tmp_path / "checkpoint" / "run.json")).touch()
    (tmp_path / LOCK_FILE).touch()
    prepare_out(tmp_path, resume=False, overwrite=False)


@pytest.mark.parametrize(
    "content", [{"config.json": '{"model_type": "bert"}', "README.md": "mine"}, {"deep/down/tweets.csv": "text,label"}]
)
def test_overwrite_leaves_files_alone_that_are_not_of_a_model_of_ours(content: dict[str, str], tmp_path: Path) -> None:
    for name, text in content.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=r"`overwrite=True` replaces nothing else; choose a folder that is new"):
        train_model(Sources(train=opinions(120)), recipe(), out=tmp_path, overwrite=True)
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == content.keys()
    assert all((tmp_path / name).read_text() == text for name, text in content.items())


def test_out_must_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for flags in ({"resume": True, "overwrite": False}, {"resume": False, "overwrite": True}):
        with pytest.raises(UsageError, match="is a file; name a folder"):
            prepare_out(tmp_path / "file", **flags)


def test_a_run_leaves_a_whole_model_folder(tmp_path: Path) -> None:
    source = SourceConfig(train="reviews.csv")
    small = recipe(epochs=6, learning_rate=0.02)
    trained = train_model(Sources(train=opinions(120)), small, source=source, out=tmp_path / "runs" / "one")
    folder = tmp_path / "runs" / "one"
    assert {path.name for path in folder.iterdir()} == {
        "README.md",
        "SHA256SUMS",
        "config.json",
        "metrics.json",
        "model.safetensors",
        "seen.safetensors",
        "tokenizer.json",
    }
    loaded = load_model(folder, CLASSIFIER)
    assert loaded.config == trained.config
    assert labels_of(loaded.config.target).labels == ("bad", "good")
    assert loaded.config.recipe == small.model_dump(mode="json")
    assert loaded.config.data["read_as"] == source.model_dump(mode="json")
    assert (loaded.config.data["rows"], loaded.config.data["validation_rows"]) == (96, 24)
    assert (loaded.config.data["text_column"], loaded.config.data["label_column"]) == ("review", "stars")
    assert loaded.config.versions["torch"] == torch.__version__
    assert loaded.config.training_seconds > 0
    best = json.loads((folder / "metrics.json").read_text())["best"]
    assert best["epoch"] == loaded.metrics["best_epoch"]
    assert best["validation_loss"] == min(row["validation_loss"] for row in loaded.metrics["history"])
    answers = Predictor(loaded).answer(["the plot was lovely", "the cast was awful"])
    assert answers.predictions() == ["good", "bad"]


def test_the_card_says_what_the_model_is(tmp_path: Path) -> None:
    trained = train_model(Sources(train=opinions()), recipe(), out=tmp_path)
    card = (tmp_path / "README.md").read_text()
    best = trained.metrics["best"]
    parameters = parameter_count(SMALL, trained.tokenizer.vocab_size, 2)
    for words in (
        "bad, good",
        "48 rows of `reviews.csv`",
        f"{parameters:,} parameters",
        f"On 12 validation rows, the ones that chose this epoch: accuracy {best['validation_accuracy']:.4f} (95%",
        trained.config.data["fingerprint"],
    ):
        assert words in card
    alone = {"rows": 1, "validation_rows": 1}
    config = trained.config.model_copy(update={"data": trained.config.data | alone})
    card = model_card(replace(trained, config=config))
    assert "from scratch on 1 row of" in card
    assert "On 1 validation row, the one that chose this epoch: accuracy" in card


def test_without_validation_the_card_claims_nothing(tmp_path: Path) -> None:
    whole = recipe().model_copy(update={"validation": ValidationConfig(fraction=0)})
    trained = train_model(Sources(train=opinions()), whole, out=tmp_path)
    card = (tmp_path / "README.md").read_text()
    assert "No rows were held out" in card
    assert "not calibrated" in card
    assert labels_of(trained.config.target).temperature == 1.0
    assert "held_out_answers" not in trained.metrics


def test_the_answers_to_held_out_rows_are_summed_up(tmp_path: Path) -> None:
    validation = opinions(30, first=200, source="held_out.csv")
    trained = train_model(Sources(train=opinions(80), validation=validation), recipe(), out=tmp_path)
    answers = Predictor(trained).answer(validation.frame["text"].to_list())
    assert answers.unseen is not None
    assert trained.config.unlike is not None
    labels = trained.config.label_set.encode(validation)
    expected = HeldOutAnswers.of(
        answers, labels=labels, **unseen_figures(answers.unseen, trained.config.unlike.threshold)
    )
    found = HeldOutAnswers.model_validate(load_model(tmp_path, CLASSIFIER).metrics["held_out_answers"])
    assert found.confidence is not None
    assert expected.confidence is not None
    assert (found.rows, found.labels) == (30, expected.labels)
    assert sum(found.labels.values()) == pytest.approx(1, abs=1e-5)
    assert found.confidence.mean == pytest.approx(expected.confidence.mean, abs=2e-6)
    assert found.confidence.sd == pytest.approx(expected.confidence.sd, abs=2e-6)
    assert (found.unseen_share, found.unlike_training) == (expected.unseen_share, expected.unlike_training)
    assert found.thresholds is not None
    assert expected.thresholds is not None
    assert found.thresholds.confidence == pytest.approx(expected.thresholds.confidence, abs=3e-6)
    assert found.thresholds.label_probability == pytest.approx(expected.thresholds.label_probability, abs=3e-6)
    assert found.thresholds.wrong is not None
    assert found.thresholds.wrong[-1] == sum(
        answer != label for answer, label in zip(answers.named, validation.frame["label"], strict=True)
    )


def test_the_temperature_is_fitted_on_the_validation_rows(tmp_path: Path) -> None:
    """Where a fifth of their labels are wrong and those trained on are not, only they ask for less confidence."""
    train, held_out = opinions(80), opinions(50, first=200, source="held_out.csv")
    wrong = [("bad", "good")[(number + (number % 5 == 0)) % 2] for number in range(50)]
    validation = table(held_out.frame["text"].to_list(), wrong, source="held_out.csv")
    small = recipe(epochs=4, learning_rate=0.02)
    trained = train_model(Sources(train=train, validation=validation), small, out=tmp_path)

    def fitted(rows: Table) -> float:
        texts, labels = rows.frame["text"].to_list(), trained.config.label_set.encode(rows)
        return fit_temperature(Predictor(trained).logits(texts), labels, multilabel=False)

    assert labels_of(trained.config.target).temperature == pytest.approx(fitted(validation), rel=1e-4)
    assert labels_of(trained.config.target).temperature > 1.2
    assert labels_of(trained.config.target).temperature > 1.2 * fitted(train)
    assert (
        labels_of(load_model(tmp_path, CLASSIFIER).config.target).temperature
        == labels_of(trained.config.target).temperature
    )


def test_overwriting_replaces_the_model(tmp_path: Path) -> None:
    train_model(Sources(train=opinions()), recipe(), out=tmp_path)
    with pytest.raises(UsageError, match="already holds a model"):
        train_model(Sources(train=opinions(70)), recipe(), out=tmp_path)
    train_model(Sources(train=opinions(70)), recipe(), out=tmp_path, overwrite=True)
    assert load_model(tmp_path, CLASSIFIER).config.data["rows"] == 56


def test_texts_of_the_test_table_are_never_trained_on() -> None:
    train = opinions(80)
    shared = train.frame["text"].to_list()[:7]
    test = table([f" {text} " for text in shared], ["good"] * 7, source="test.csv")
    seen: list[Splits] = []
    trained = train_model(
        Sources(train=train, test=test), recipe(), on_prepared=lambda prepared: seen.append(prepared.splits)
    )
    validation = seen[0].validation
    assert validation is not None
    used = pl.concat([seen[0].train.frame, validation.frame])["text"].to_list()
    assert len(used) == 73
    assert not set(used) & set(shared)
    assert not {f"{number}" for number in range(7)} & set(trained.tokenizer.vocabulary())
    assert trained.config.data["dropped"][0] == {
        "source": "reviews.csv",
        "reason": "duplicate of a test text",
        "count": 7,
        "rows": [1, 2, 3, 4, 5, 6, 7],
    }


def test_the_vocabulary_is_of_the_training_rows_alone() -> None:
    validation = table(["the plot was zebra", "the cast was zebra"] * 3, ["good", "bad"] * 3, source="validation.csv")
    trained = train_model(Sources(train=opinions(), validation=validation), recipe())
    assert "plot" in trained.tokenizer.vocabulary()
    assert "zebra" not in trained.tokenizer.vocabulary()
    assert trained.config.data["validation_rows"] == 6


def test_with_and_without_a_folder_is_the_same_model(tmp_path: Path) -> None:
    kept = train_model(Sources(train=opinions()), recipe(), out=tmp_path)
    free = train_model(Sources(train=opinions()), recipe())
    weights = free.model.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in kept.model.state_dict().items())


def test_several_labels_per_text(tmp_path: Path) -> None:
    topics = [["plot"], ["cast"], ["plot", "cast"], []]
    texts = [f"about {' and '.join(topics[i % 4]) or 'nothing'} number {i}" for i in range(160)]
    many = table(texts, [topics[i % 4] for i in range(160)])
    small = recipe(epochs=15, learning_rate=0.02, class_weights="balanced")
    trained = train_model(Sources(train=many), small, out=tmp_path)
    assert trained.config.target.multilabel
    answers = Predictor.load(tmp_path).answer(["about plot", "about cast and plot", "about nothing"])
    assert [sorted(labels) for labels in answers.predictions()] == [["plot"], ["cast", "plot"], []]
    assert "any number of the labels: cast, plot" in (tmp_path / "README.md").read_text()


def test_balanced_weights_answer_for_the_rare_class() -> None:
    texts = [f"word {i}" for i in range(100)]
    skewed = table(texts, ["rare" if i % 10 == 0 else "usual" for i in range(100)])
    none, balanced = (
        train_model(Sources(train=skewed), recipe(class_weights=kind, epochs=4)) for kind in ("none", "balanced")
    )
    rare = [Predictor(trained).answer(["word"]).probs[0, 0] for trained in (none, balanced)]
    assert rare[1] > rare[0] + 0.1


def test_a_table_of_weights_must_have_the_labels() -> None:
    with pytest.raises(UsageError, match=r"class_weights names the labels \['bad', 'god'\]"):
        train_model(Sources(train=opinions()), recipe(class_weights={"bad": 1.0, "god": 2.0}))


def test_a_design_for_one_label_refuses_several() -> None:
    several = table(["a film", "a play", "a song"] * 4, [["good"], ["good", "long"], []] * 4)
    one_label = load_recipe("sentiment140", overrides={"model.n_layers": 1, "validation.fraction": 0.0})
    with pytest.raises(UsageError, match=r"'sentiment140' answers with one label per text"):
        train_model(Sources(train=several), one_label)


def diverging(monkeypatch: pytest.MonkeyPatch, step: int) -> Memory:
    """An observer that makes the scores of the model NaN after a step."""
    models: list[Classifier] = []

    class Watched(Classifier):
        def __init__(self, config: ModelConfig, vocab_size: int, n_classes: int) -> None:
            super().__init__(config, vocab_size, n_classes)
            models.append(self)

    def poison(done: int) -> None:
        if done == step:
            with torch.no_grad():
                models[-1].get_parameter("head.bias")[0] = float("nan")

    monkeypatch.setattr(preparation, "build_model", Watched)
    return Memory(poison)


def test_not_a_number_leaves_the_best_model_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    observer = diverging(monkeypatch, 8)  # in the second epoch of five steps
    with pytest.raises(NotANumberError, match=f"weights head.bias .* The model of epoch 1, .* is in {tmp_path}"):
        train_model(Sources(train=opinions()), recipe(epochs=4), out=tmp_path, observer=observer)
    loaded = load_model(tmp_path, CLASSIFIER)
    assert loaded.metrics["best_epoch"] == 1
    assert all(tensor.isfinite().all() for tensor in loaded.model.state_dict().values())
    assert not (tmp_path / "checkpoint").exists()


def test_not_a_number_before_any_epoch_leaves_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotANumberError, match="after step 2"):
        train_model(Sources(train=opinions()), recipe(), out=tmp_path, observer=diverging(monkeypatch, 2))
    with pytest.raises(GlassformerError):
        load_model(tmp_path, CLASSIFIER)


def test_data_that_cannot_be_learned_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="at least two classes"):
        train_model(Sources(train=table(["a", "b"], ["x", "x"])), recipe(), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_caller_hears_of_the_splits_and_the_size() -> None:
    heard: list[Prepared] = []
    few = recipe(batch_size=7, min_steps_per_epoch=15)
    trained = train_model(Sources(train=opinions()), few, on_prepared=heard.append)
    assert heard[0].splits.train.frame.height == 48
    assert heard[0].parameters == sum(parameter.numel() for parameter in trained.model.parameters())
    assert heard[0].passes == 3  # of 7 steps each


def test_every_tokenizer_trains_a_model(tmp_path: Path) -> None:
    for kind in ("character", "byte", "bpe", "wordpiece", "unigram"):
        changed = recipe(epochs=1).model_dump() | {"tokenizer": {"kind": kind, "vocab_size": 300}}
        train_model(Sources(train=opinions()), Recipe.model_validate(changed), out=tmp_path / kind)
        assert Predictor.load(tmp_path / kind).answer(["the plot was lovely"]).probs.shape == (1, 2)


def test_the_python_interface_keeps_the_callers_labels() -> None:
    trained = train_model(Sources(train=opinions()), recipe(epochs=1))
    trained = from_memory(trained, (False, True), fold_labels=False, label_columns=None)
    assert Predictor(trained).answer(["the plot was lovely"]).predictions()[0] in (False, True)


def test_a_vocabulary_that_misses_most_words_is_said() -> None:
    names = [f"name{i} common" for i in range(40)]
    heard = Memory()
    train_model(Sources(train=table(names, ["bad", "good"] * 20)), recipe(epochs=1), observer=heard)
    assert any("50% of the training tokens occur too seldom" in message for message in heard.messages)

    known = Memory()
    train_model(Sources(train=opinions(40)), recipe(epochs=1), observer=known)
    assert not known.messages


@pytest.mark.parametrize("asked", [True, False])
def test_such_a_vocabulary_is_said_only_of_a_transformer_that_answers(
    asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FolderConfig, "asked", ("counting", "transformer") if asked else ("counting",))
    names, heard = [f"name{i} common" for i in range(40)], Memory()
    beside = recipe(epochs=1).model_dump() | {"model": SMALL.model_copy(update={"counting": "tfidf"})}
    train_model(Sources(train=table(names, ["bad", "good"] * 20)), Recipe.model_validate(beside), observer=heard)
    assert any("occur too seldom" in message for message in heard.messages) is asked


def test_a_refused_run_leaves_nothing_to_resume(tmp_path: Path) -> None:
    unknown_label = table(["a text", "another text"], ["good", "middling"])
    with pytest.raises(UsageError, match="middling"):
        train_model(Sources(train=opinions(40), validation=unknown_label), recipe(epochs=1), out=tmp_path / "one")
    assert not (tmp_path / "one" / "checkpoint").exists()
