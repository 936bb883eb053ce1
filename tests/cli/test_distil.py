import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from glassformer.prediction.model_folder import CLASSIFIER, load_model
from tests.cli.terminal import Outcome, ctrl_c, glassformer, misused
from tests.support import unchecked_shapes
from tests.trained import Trained, review_rows, write_csv

SMALL = (
    "--into", "tiny", "--set", "model.d_model=16", "--set", "model.d_ff=24", "--set", "training.min_steps_per_epoch=5",
    "--epochs", "2", "--device", "cpu",
)  # fmt: skip


def distil(teacher: Path, out: Path, *given: object) -> Outcome:
    return glassformer("distil", teacher, *given, "--out", out, *SMALL)


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("texts") / "more.txt"
    words = ("good", "bad", "fine", "dull")
    file.write_text("\n".join(f"a {words[number % 4]} opera {number}" for number in range(300)))
    return file


def test_a_student_is_a_model_like_any_other(reviews: Trained, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "my student"
    said = distil(reviews.folder, out, texts, "--labelled", reviews.table)
    assert said.code == 0, said.err
    assert f"{texts}: 300 lines\n" in said.err
    assert f"data: {reviews.table} and {texts}, 477 texts to learn from" in said.err
    found = re.search(r"held out: 53 texts, (\d+) of them with a label", said.err)
    assert found
    assert 10 < int(found[1]) < 40
    assert "student: " in said.err
    assert "so few texts" not in said.err
    assert "validation loss" in said.err
    assert f"{out}: gives the answer of {reviews.folder} to " in said.out
    assert "% of the held-out texts, accuracy " in said.out
    card = (out / "README.md").read_text()
    assert f"Distilled: it learned the answers of the model `{reviews.folder}` to 477 texts" in card
    assert "That model was trained on 2" in card
    assert "On 53 held-out texts: the answer of its teacher to" in card
    assert glassformer("predict", out, "good film").code == 0
    assert glassformer("explain", out, "good film").code == 0
    test = write_csv(tmp_path / "test.csv", review_rows(300)[230:])
    measured = glassformer("evaluate", out, test, "--train", reviews.table)
    assert measured.code == 0, measured.err
    assert re.search(r"training the baselines on all 2\d\d rows that its teacher saw", measured.err)
    again = glassformer("evaluate", out, reviews.table, "--train", reviews.table)
    assert "also in the training of its teacher; all figures are too good" in again.err


def test_an_exported_student_teaches_too(attending: Trained, texts: Path, tmp_path: Path) -> None:
    assert distil(attending.folder, tmp_path / "first", texts).code == 0
    with unchecked_shapes():
        exported = glassformer("export", tmp_path / "first", "--format", "onnx", "--out", tmp_path / "small")
    assert exported.code == 0, exported.err
    with unchecked_shapes():
        int8 = glassformer("export", tmp_path / "first", "--format", "onnx-int8", "--out", tmp_path / "int8")
    assert re.search(r"[Oo]n \d+ validation rows of its teacher, [\d.]+% ", int8.err)
    again = distil(tmp_path / "small", tmp_path / "second", texts, "--json")
    assert again.code == 0, again.err
    document = again.document
    assert document["best"]["validation_agreement"] > 0.5
    teachers = [load_model(tmp_path / name, CLASSIFIER).config.data["teacher"] for name in ("first", "second")]
    assert [teacher["name"] for teacher in teachers] == [str(attending.folder), str(tmp_path / "small")]
    assert teachers[0]["rows"] == teachers[1]["rows"]
    test = write_csv(tmp_path / "test.csv", review_rows(300)[230:])
    measured = glassformer("evaluate", tmp_path / "second", test)
    assert "training the baselines on all 2" in measured.err


def test_a_table_of_texts_is_read_from_the_column_of_the_teacher(reviews: Trained, tmp_path: Path) -> None:
    rows = [("a much longer remark that is no review", f"a good film {number}") for number in range(40)]
    table = write_csv(tmp_path / "new.csv", rows, ("remark", "text"))
    said = distil(reviews.folder, tmp_path / "s", table)
    assert said.code == 0, said.err
    assert "40 texts to learn from" in said.err
    assert "warning: so few texts teach next to nothing" in said.err
    assert "nothing is held out" in said.err
    assert "nothing was held out" in said.out
    assert "No rows were held out" in (tmp_path / "s" / "README.md").read_text()


def test_labels_that_the_teacher_learned_are_named(tags: Trained, texts: Path, tmp_path: Path) -> None:
    shutil.copy(tags.table, tmp_path / "others.csv")
    for table, learned in ((tags.table, True), (tmp_path / "others.csv", False)):
        said = distil(tags.folder, tmp_path / table.stem, texts, "--labelled", table)
        assert ("the teacher learned these labels, so figures about them are too good" in said.err) == learned, said.err


def test_several_labels(tags: Trained, texts: Path, tmp_path: Path) -> None:
    said = distil(tags.folder, tmp_path / "s", texts, "--labelled", tags.table, "--json")
    assert said.code == 0, said.err
    assert {"validation_agreement", "validation_loss"} <= said.document["best"].keys()
    assert glassformer("predict", tmp_path / "s", "good film").code == 0


def test_ctrl_c_resume_and_overwrite(reviews: Trained, texts: Path, tmp_path: Path) -> None:
    out = tmp_path / "s"
    assert distil(reviews.folder, tmp_path / "whole", texts).code == 0
    with ctrl_c(step=7):
        said = distil(reviews.folder, out, texts)
    assert said.code == 130
    assert "stopped; the run is saved in" in said.err
    assert "--resume" in said.err
    misused(distil(reviews.folder, out, texts), "unfinished run", "--resume")
    misused(distil(reviews.folder, out, texts, "--resume", "--temperature", "2"), "temperature was 1")
    resumed = distil(reviews.folder, out, texts, "--resume")
    assert resumed.code == 0, resumed.err
    assert "resumed at step" in resumed.err
    for name in ("model.safetensors", "tokenizer.json"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    misused(distil(reviews.folder, out, texts), "already holds a model", "--overwrite")
    assert distil(reviews.folder, out, texts, "--overwrite").code == 0


@pytest.fixture
def refused(reviews: Trained, tmp_path: Path) -> Any:
    """Check that a distillation is refused with these words, and leaves nothing."""

    def check(*given: object, says: str, teacher: Path = reviews.folder) -> None:
        misused(distil(teacher, tmp_path / "s", *given), says)
        assert not (tmp_path / "s").exists()

    return check


def test_bad_input_is_one_sentence(reviews: Trained, texts: Path, tmp_path: Path, refused: Any) -> None:
    refused(says="there are no texts to learn from")
    refused(tmp_path / "no.txt", says="no.txt")
    refused(texts, texts, says="no text is left to read")
    refused("zhou", says="zhou has no unlabelled texts")
    refused(texts, "--temperature", "0", says="--temperature 0: give a number from 0.05 to 20")
    refused(texts, "--set", "model.counting=auto", says="a student is a transformer alone")
    refused(texts, "--set", "training.label_smoothing=0.1", says="--set training.label_smoothing=0.1: a student learns")
    refused(texts, "--set", "validation.group=author", says="leave out group, time and file")
    other = write_csv(tmp_path / "other.csv", [(text, "neutral") for text, _ in review_rows(20)])
    refused("--labelled", other, says="was not seen in training")
    refused(texts, teacher=tmp_path / "no-model", says="no-model")
    misused(glassformer("distil", reviews.folder, texts, "--into", "huge", "--out", tmp_path / "s"), "--into huge")


def test_another_kind_of_model_teaches_nothing(texts: Path, tmp_path: Path, refused: Any) -> None:
    writer = ("--preset", "tiny", "--set", "training.max_steps=2", "--device", "cpu")
    assert glassformer("pretrain", texts, "--out", tmp_path / "lm", *writer).code == 0
    refused(texts, teacher=tmp_path / "lm", says="holds a language model; a classifier is needed")


def test_a_damaged_record_of_the_teacher_is_named(reviews: Trained, texts: Path, tmp_path: Path) -> None:
    assert distil(reviews.folder, tmp_path / "s", texts).code == 0
    file = tmp_path / "s" / "config.json"
    config = json.loads(file.read_text())
    config["data"]["teacher"]["rows"]["data"]["rows"] = "many"
    file.write_text(json.dumps(config))
    said = glassformer("predict", tmp_path / "s", "good film")
    assert said.code == 1
    assert "config.json: data.rows: " in said.err
