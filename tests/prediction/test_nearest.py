import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from glassformer.data.checksums import SUMS_FILE
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.build import build_model
from glassformer.models.published.vinh import VinhMLPConfig
from glassformer.prediction.answering_config import Readers
from glassformer.prediction.folder_names import TEXTS_FILE, VECTORS_FILE
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model, save_model
from glassformer.prediction.nearest import NearestSearch, pooled_vectors
from glassformer.prediction.predictor import Predictor
from glassformer.readers.counting.matrices import tfidf_vectors
from tests.explanation.test_explain import two_readers
from tests.prediction.keeping import TEXTS, keeping
from tests.prediction.samples import small_trained_model


def test_the_nearest_texts_have_the_largest_cosines_of_pooled_vectors() -> None:
    trained = keeping(small_trained_model())
    found = Predictor(trained).search.nearest("i loved the plot", count=3)
    vectors = pooled_vectors(trained, ["i loved the plot", *TEXTS])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = dict(zip(range(10, 16), (vectors[1:] @ vectors[0]).tolist(), strict=True))
    del cosines[13]  # the copy
    order = sorted(cosines, key=lambda row: -cosines[row])[:3]
    assert [near.row for near in found.texts] == order
    assert [near.similarity for near in found.texts] == pytest.approx([cosines[row] for row in order], abs=2e-3)
    assert [near.text for near in found.texts] == [TEXTS[row - 10] for row in order]
    assert (found.by, found.itself, found.remark) == ("transformer", (), "")


def test_the_text_itself_is_said_to_be_a_training_text() -> None:
    found = NearestSearch(keeping(small_trained_model())).nearest("  i loved it\n", count=6)
    assert [near.row for near in found.texts] != []
    assert {11, 13, 14}.isdisjoint(near.row for near in found.texts)
    assert [(near.row, near.label) for near in found.itself] == [(11, "good"), (14, "fine")]
    assert found.itself[0].similarity == pytest.approx(1, abs=1e-3)
    assert found.remark == "This text is a training text: row 11, label good and row 14, label fine."


def test_equal_texts_are_those_with_the_same_unicode_form() -> None:
    trained = keeping(small_trained_model(), texts=("caf\u00e9",), labels=(1,))
    assert len(NearestSearch(trained).nearest("cafe\u0301", count=1).itself) == 1
    assert NearestSearch(trained).nearest("Caf\u00e9", count=1).itself == ()


def test_if_counting_answers_alone_n_grams_are_compared() -> None:
    trained = keeping(
        two_readers(transformer=0.0), texts=("not good", "film", "qwertz", "good film ½"), labels=(0, 1, 2, 0)
    )
    assert trained.kept is not None
    assert trained.kept().vectors is None
    found = NearestSearch(trained).nearest("good film", count=5)
    assert trained.counting is not None
    values = tfidf_vectors(trained.counting, ["good film", "good film ½", "film", "not good"]).toarray()
    assert [near.row for near in found.texts] == [13, 11, 10]  # and not "qwertz", which shares nothing
    assert [near.similarity for near in found.texts] == pytest.approx((values[1:] @ values[0]).tolist(), abs=1e-5)
    assert np.linalg.norm(values, axis=1) == pytest.approx(1)
    assert (found.by, found.remark) == ("counting", "")
    nothing = NearestSearch(trained).nearest("zzz", count=5)
    assert nothing.texts == ()
    assert nothing.remark == "No training text has an n-gram of this text that the model knows."


def test_if_neither_counting_nor_the_transformer_answers_there_are_no_vectors() -> None:
    trained = keeping(two_readers(transformer=0.0), texts=("film",), labels=(0,))
    config = trained.config.model_copy(update={"readers": Readers.weighing({"body": 1.0, "transformer": 0.0})})
    with pytest.raises(UsageError, match="by the transformer or by counting, and the model answers by the body alone"):
        NearestSearch(dataclasses.replace(trained, config=config, readers={}))


def test_several_labels_per_text_are_a_list() -> None:
    trained = keeping(small_trained_model(multilabel=True), texts=("i loved it", "the plot"), labels=((0, 2), ()))
    found = NearestSearch(trained).nearest("i loved it", count=1)
    assert found.itself[0].label == ["bad", "good"]
    assert found.texts[0].label == []
    assert "row 10, label bad, good" in found.remark


def test_a_model_without_training_texts_says_what_to_do() -> None:
    with pytest.raises(UsageError, match=r"does not keep its training texts.*train it again with `keep_texts=True`"):
        NearestSearch(small_trained_model())


def test_a_design_without_a_vector_says_so() -> None:
    trained, model = small_trained_model(), VinhMLPConfig(max_seq_len=10)
    published = dataclasses.replace(trained, model=build_model(model, trained.config.vocab_size, 3))
    with pytest.raises(UsageError, match="the design VinhMLP makes no vector of a text"):
        NearestSearch(published)


@pytest.fixture(params=["labels", "several labels", "counting"])
def trained(request: pytest.FixtureRequest) -> TrainedModel:
    if request.param == "counting":
        return keeping(two_readers(transformer=0.0))
    if request.param == "labels":
        return keeping(small_trained_model(labels=(1, 2, 3)))
    return keeping(small_trained_model(multilabel=True), labels=((0, 1), (), (2,), (0,), (), (1, 2)))


def test_a_folder_keeps_the_texts(trained: TrainedModel, tmp_path: Path) -> None:
    save_model(tmp_path / "model", trained, card="")
    loaded = load_model(tmp_path / "model", CLASSIFIER)
    save_model(tmp_path / "model", loaded, card="")  # they are read before they are replaced
    loaded = load_model(tmp_path / "model", CLASSIFIER)
    assert loaded.kept is not None
    assert trained.kept is not None
    found, before = loaded.kept(), trained.kept()
    assert (found.rows, found.texts, found.labels) == (before.rows, before.texts, before.labels)
    assert (found.vectors is None) == (before.vectors is None)
    near, same = (NearestSearch(model).nearest("i loved the plot", count=5).texts for model in (loaded, trained))
    assert [dataclasses.replace(text, similarity=0) for text in near] == [
        dataclasses.replace(text, similarity=0) for text in same
    ]
    assert [text.similarity for text in near] == pytest.approx([text.similarity for text in same], abs=2e-3)


def test_texts_are_exact_and_one_line_each(tmp_path: Path) -> None:
    odd = ('"a\nb"\r\n', "c\u2028d\x00", "🙂 <b>")
    save_model(tmp_path / "m", keeping(small_trained_model(), texts=odd, labels=(0, 1, 2)), card="")
    lines = (tmp_path / "m" / TEXTS_FILE).read_bytes().decode().split("\n")
    assert [json.loads(line) for line in lines[:-1]] == [
        {"row": 10 + number, "label": label, "text": text}
        for number, (label, text) in enumerate(zip(("bad", "fine", "good"), odd, strict=True))
    ]
    kept = load_model(tmp_path / "m", CLASSIFIER).kept
    assert kept is not None
    assert kept().texts == odd


def test_only_the_owner_reads_kept_texts(tmp_path: Path) -> None:
    save_model(tmp_path, keeping(small_trained_model()), card="", report="<p>it quotes texts")
    private = {path.name for path in tmp_path.iterdir() if not path.stat().st_mode & 0o077}
    assert private == {TEXTS_FILE, VECTORS_FILE, "report.html"}


def test_a_model_that_keeps_none_takes_them_away(tmp_path: Path) -> None:
    save_model(tmp_path / "m", keeping(small_trained_model()), card="")
    assert (tmp_path / "m" / VECTORS_FILE).exists()
    save_model(tmp_path / "m", small_trained_model(), card="")
    assert not list((tmp_path / "m").glob("training-texts.*"))
    assert load_model(tmp_path / "m", CLASSIFIER).kept is None


def texts(change: Callable[[list[str]], list[str]]) -> Callable[[Path], None]:
    def tamper(folder: Path) -> None:
        file = folder / TEXTS_FILE
        file.write_text("".join(change(file.read_text().splitlines(keepends=True))))

    return tamper


def vectors(change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> Callable[[Path], None]:
    def tamper(folder: Path) -> None:
        file = folder / VECTORS_FILE
        save_file({"vectors": np.ascontiguousarray(change(load_file(file)["vectors"]))}, file)
        (folder / SUMS_FILE).unlink()  # the checksums are no defence against a folder that is made to do harm

    return tamper


def replaced(name: str, make: Callable[[Path], None]) -> Callable[[Path], None]:
    def tamper(folder: Path) -> None:
        (folder / name).unlink()
        make(folder / name)

    return tamper


def not_finite(found: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.where(np.arange(len(found))[:, None] == 2, np.nan, found).astype(np.float16)


@pytest.mark.parametrize(
    ("tamper", "says"),
    [
        (texts(lambda lines: lines[:-1]), r"training-texts\.jsonl does not match config\.json"),
        (texts(lambda lines: ["[]\n", *lines[1:]]), r"line 1, does not hold a row, a label and a text"),
        (texts(lambda lines: [*lines[:2], lines[2][:20]]), r"line 3, does not hold"),
        (texts(lambda lines: [line.replace('"good"', '"superb"') for line in lines]), "does not match config"),
        (texts(lambda lines: [line.replace('"good"', '["good"]') for line in lines]), "does not match config"),
        (texts(lambda lines: [line.replace('"good"', "2") for line in lines]), "does not match config"),
        (texts(lambda lines: [line.replace('"row": 10', '"row": "10"') for line in lines]), "line 1, does not hold"),
        (texts(lambda lines: [line.replace('"row": 10', '"row": 0') for line in lines]), "line 1, does not hold"),
        (vectors(lambda found: found[:-1]), r"training-texts\.safetensors does not match config\.json"),
        (vectors(lambda found: found[0]), "holds no vectors in float16"),
        (vectors(lambda found: found.astype(np.int8)), "holds no vectors in float16"),
        (vectors(not_finite), "holds no vectors in float16"),
        (vectors(lambda found: found[:, :-1]), "have 15 numbers, and the model makes 16"),
        (lambda folder: (folder / VECTORS_FILE).unlink(), r"training-texts\.safetensors is missing"),
        (lambda folder: (folder / VECTORS_FILE).write_bytes(b"\x10"), "cut short or damaged"),
        (replaced(TEXTS_FILE, os.mkfifo), r"training-texts\.jsonl is not a file"),
        (replaced(VECTORS_FILE, os.mkfifo), r"training-texts\.safetensors is not a file"),
        (replaced(TEXTS_FILE, lambda path: path.symlink_to("/dev/zero")), r"training-texts\.jsonl is not a file"),
        (lambda folder: (folder / TEXTS_FILE).write_text("[" * 200_000), "line 1, does not hold"),
    ],
)  # fmt: skip
def test_damaged_files_are_one_sentence_when_they_are_read(
    tamper: Callable[[Path], None], says: str, tmp_path: Path
) -> None:
    save_model(tmp_path / "m", keeping(small_trained_model()), card="")
    tamper(tmp_path / "m")
    predictor = Predictor.load(tmp_path / "m")
    assert predictor.answer(["i loved it"]).predictions() != [None]  # answers need none of it
    with pytest.raises(GlassformerError, match=says) as caught:
        predictor.search.nearest("i loved it", count=1)
    assert "\n" not in str(caught.value)
