"""`embeddings`, and models that read with the body that it wrote."""

import gzip
import shutil
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from glassformer.prediction.answering_config import ReaderConfig, Readers
from glassformer.prediction.model_folder import CLASSIFIER, load_model
from glassformer.readers.body.vectors import Body
from glassformer.targets.labels import training_card
from tests.bodies import ENGLISH
from tests.cli.terminal import glassformer, misused
from tests.readers.body.test_body import sentences
from tests.trained import write_csv

SMALL = ("--dims", "4", "--window", "8", "--min-count", "2")
QUICK = ("--preset", "tiny", "--set", "model.d_model=16", "--epochs", "0", "--device", "cpu")


@pytest.fixture(scope="module")
def body(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bodies")
    with gzip.open(folder / "some.txt.gz", "wt") as file:
        file.write("\n".join(sentences(300, 0)))
    more = write_csv(folder / "more.csv", [(text, "x") for text in sentences(300, 1)], ("text", "label"))
    made = glassformer("embeddings", folder / "some.txt.gz", more, "--out", folder / "small", *SMALL, "--json")
    assert made.code == 0, made.err
    assert made.document["words"] == 13
    assert made.document["sources"] == ["some.txt.gz", "more.csv"]
    assert made.document["read"] == 6600
    assert not (folder / "small.unfinished").exists()
    return folder / "small"


def test_what_it_prints_and_refuses(body: Path) -> None:
    text = body.with_name("some.txt.gz")
    misused(glassformer("embeddings", text, "--out", body, *SMALL), "already holds a body")
    (body / "notes.txt").write_text("mine", encoding="utf-8")
    again = glassformer("embeddings", text, "--out", body, *SMALL, "--overwrite")
    misused(again, "would be replaced, and holds a file of yours, 'notes.txt'")
    (body / "notes.txt").unlink()
    misused(glassformer("embeddings", text, "--out", body.parent, *SMALL), "not an empty folder")
    misused(glassformer("embeddings", text, body.with_name("gone.txt"), "--out", body.with_name("b")), "No such file")
    misused(glassformer("embeddings", text, "--out", body.with_name("b"), "--dims", "1"), "--dims 1")
    body.with_name("loop").symlink_to("loop")
    misused(glassformer("embeddings", text, "--out", body.with_name("loop"), *SMALL), "is a link that leads nowhere")
    rare = ("--min-count", "9999")
    misused(
        glassformer("embeddings", text, "--out", body.with_name("b"), *rare), "too few for vectors", "--min-count 2"
    )
    body.with_name("cut.txt.gz").write_bytes(text.read_bytes()[:-20])
    misused(glassformer("embeddings", body.with_name("cut.txt.gz"), "--out", body.with_name("b")), "may be damaged")
    assert not body.with_name("b").exists()
    again = glassformer("embeddings", text, "--out", body.with_name("again"), *SMALL)
    assert again.out.startswith(f"{body.with_name('again')}: vectors of 13 words and ")
    assert "  near the: " in again.out
    assert "note: 3,300 words are few for vectors; give more texts, or if they are English, --from english" in again.err


def test_a_body_is_continued_on_other_texts(body: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text("\n".join(text.replace("goal", "puck") for text in sentences(300, 2)))
    asked = ("embeddings", tmp_path / "new.txt", "--min-count", "2", "--out", tmp_path / "more")
    misused(glassformer(*asked, "--from", tmp_path / "gone"), "there is no body")
    misused(glassformer(*asked, "--from", body, "--dims", "4"), "--dims 4", "keep as many numbers as they have")
    misused(glassformer(*asked, "--from", body, "--axes", "english"), "--axes english", "keeps its own axes")
    made = glassformer(*asked, "--from", body, "--json")
    assert "few for vectors" not in made.err
    assert (made.code, made.document["words"], made.document["dims"], made.document["base"]) == (0, 14, 4, "small")
    assert Body.load(tmp_path / "more").card.base == "small"
    assert made.document["seconds"] > 0
    assert not (tmp_path / "more" / "SOURCES.tsv").exists()


def test_the_sources_of_a_body_go_with_one_that_continues_it(body: Path, tmp_path: Path) -> None:
    base = shutil.copytree(body, tmp_path / "base")
    (base / "SOURCES.tsv").write_text("file\tlicence\n", encoding="utf-8")
    asked = ("embeddings", body.with_name("some.txt.gz"), "--from", base, "--min-count", "2")
    assert glassformer(*asked, "--out", tmp_path / "more").code == 0
    assert (tmp_path / "more" / "SOURCES.tsv").read_bytes() == (base / "SOURCES.tsv").read_bytes()
    assert "SOURCES.tsv" in (tmp_path / "more" / "SHA256SUMS").read_text(encoding="utf-8")
    (base / "SOURCES.tsv").rename(tmp_path / "mine.tsv")
    (base / "SOURCES.tsv").symlink_to(tmp_path / "mine.tsv")
    assert glassformer(*asked, "--out", tmp_path / "linked").code == 0
    assert not (tmp_path / "linked" / "SOURCES.tsv").exists(), "a link of another person may lead to any file"
    rows = write_csv(tmp_path / "rows.csv", [("we like the bread", "food"), ("we like the goal", "sport")] * 12)
    read_with = ("--set", "model.counting=auto", "--set", f"model.body={tmp_path / 'more'}")
    assert glassformer("train", rows, "--out", tmp_path / "m", *QUICK, *read_with).code == 0
    card = (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    assert "of the body `more`. Give the `SOURCES.tsv` of this body away with the model" in card


def test_the_axes_of_another_body_are_taken_over(body: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ("embeddings", body.with_name("some.txt.gz"), *SMALL, "--out", tmp_path / "new")
    misused(glassformer(*asked, "--axes", tmp_path / "gone"), "there is no body")
    misused(glassformer(*asked, "--axes", body), "this body has no axes; leave it out")
    with monkeypatch.context() as patched:
        patched.setattr("glassformer.readers.body.learning.factorised", Mock(side_effect=KeyboardInterrupt))
        assert "Continue it with" in glassformer(*asked, "--axes", ENGLISH).err
    made = glassformer(*asked, "--axes", ENGLISH, "--resume")
    assert made.code == 0, made.err
    assert "too few words of the axis 'sentiment', so it changes nothing" in made.err
    assert Body.load(tmp_path / "new").card.axes == Body.load(ENGLISH).card.axes != ()


@pytest.mark.parametrize("length", [255, 245])
def test_a_name_as_long_as_it_may_be(body: Path, tmp_path: Path, length: int) -> None:
    asked = ("embeddings", body.with_name("some.txt.gz"), *SMALL, "--quiet", "--out")
    made = glassformer(*asked, tmp_path / ("a" * length))
    assert made.code == 0, made.err
    assert [path.name for path in tmp_path.iterdir()] == ["a" * length]
    misused(glassformer(*asked, tmp_path / ("a" * 256)), "cannot be the name of a file or folder")


@pytest.mark.usefixtures("unsealed")
def test_another_body_of_the_same_name_is_not_continued(
    body: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, asked = tmp_path / "base", ("embeddings", body.with_name("some.txt.gz"), "--out", tmp_path / "more")
    shutil.copytree(body, base)
    with monkeypatch.context() as patched:
        patched.setattr("glassformer.readers.body.learning.factorised", Mock(side_effect=KeyboardInterrupt))
        assert "Continue it with" in glassformer(*asked, "--from", base).err
    with (base / "body.json").open("a") as file:
        file.write("\n")
    misused(glassformer(*asked, "--from", base, "--resume"), "the files of the body changed. Resume with the same ones")


@pytest.mark.usefixtures("unsealed")
def test_other_texts_of_the_same_size_are_not_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, content = tmp_path / "some.txt", "\n".join(sentences(300, 0))
    source.write_text(content, encoding="utf-8")
    asked = ("embeddings", source, "--out", tmp_path / "more", *SMALL)
    with monkeypatch.context() as patched:
        patched.setattr("glassformer.readers.body.learning.factorised", Mock(side_effect=KeyboardInterrupt))
        assert "Continue it with" in glassformer(*asked).err
    source.write_text(content.swapcase(), encoding="utf-8")
    misused(glassformer(*asked, "--resume"), "the unlabelled texts changed. Resume with the same ones")
    source.write_text(content, encoding="utf-8")
    assert glassformer(*asked, "--resume").code == 0
    again = tmp_path / "again" / "more"
    again.parent.mkdir()
    assert glassformer("embeddings", source, "--out", again, *SMALL).code == 0
    for file in (tmp_path / "more").iterdir():
        assert file.read_bytes() == (again / file.name).read_bytes(), file.name


@pytest.mark.parametrize("seed", [-1, 2**32, 10**20])
def test_a_seed_that_cannot_be(seed: int, tmp_path: Path) -> None:
    source = tmp_path / "some.txt"
    source.write_text("\n".join(sentences(300, 0)), encoding="utf-8")
    misused(glassformer("embeddings", source, "--out", tmp_path / "more", *SMALL, "--seed", seed), f"--seed {seed}: ")
    assert not (tmp_path / "more").exists()


def test_a_model_reads_with_it(body: Path, tmp_path: Path) -> None:
    rows = [("we like the bread", "food"), ("we like the goal", "sport")] * 12
    table, test = (
        write_csv(tmp_path / "rows.csv", rows),
        write_csv(tmp_path / "test.csv", [("the soup", "food"), ("the team", "sport")] * 5),
    )
    made = tmp_path / "model"
    trained = glassformer(
        "train", table, "--out", made, *QUICK, "--set", "model.counting=auto", "--set", f"model.body={body}"
    )
    assert trained.code == 0, trained.err
    assert "the body alone" in trained.err
    asked = glassformer("predict", made, "the soup", "the team")
    assert [line.split()[0] for line in asked.out.splitlines()] == ["food", "sport"]
    explained = glassformer("explain", made, "the soup", "--json")
    assert explained.document["readers"] == ["counting", "body"]
    assert abs(explained.document["unexplained"]) < 1e-5
    audited = glassformer("audit", made, "--json")
    assert all(each["give_away"] for each in audited.document["files"] if each["name"].startswith("readers/"))
    assert "which is not asked and was not trained" in (made / "README.md").read_text()
    assert "The word vectors are those of the body `small`.\n" in (made / "README.md").read_text()
    trained_model = load_model(made, CLASSIFIER)
    weights = {"counting": 0.7, "body": 0.0, "transformer": 0.3}
    readers = Readers({name: ReaderConfig(weight=weight, temperature=1) for name, weight in weights.items()})
    without = replace(trained_model, config=trained_model.config.model_copy(update={"readers": readers}))
    assert "Held-out rows did not show that the body helps." in "".join(training_card.readers(without))
    measured = glassformer("evaluate", made, test, "--json")
    assert measured.code == 0, measured.err
    exported = glassformer("export", made, "--format", "onnx", "--out", tmp_path / "onnx")
    assert exported.code == 0, exported.err
    assert glassformer("predict", tmp_path / "onnx", "the soup").out == glassformer("predict", made, "the soup").out
    page = glassformer("export", made, "--format", "web", "--out", tmp_path / "web")
    assert page.code == 0, page.err
    assert "words of the body `small`" in (tmp_path / "web" / "README.md").read_text()


def test_word_vectors_of_the_own_texts_alone(tmp_path: Path) -> None:
    rows = [(text, "food" if number % 2 else "sport") for number, text in enumerate(sentences(40, 3))]
    table, made = write_csv(tmp_path / "rows.csv", rows), tmp_path / "model"
    (tmp_path / "more.txt").write_text("\n".join(sentences(300, 4)))
    asked = ("train", table, "--out", made, *QUICK, "--set", "model.counting=auto", "--set", "model.body=own")
    trained = glassformer(*asked, "--unlabelled", tmp_path / "more.txt")
    assert trained.code == 0, trained.err
    assert "learning word vectors from" in trained.err
    answers = glassformer("predict", made, "the soup", "the team").out.splitlines()
    assert [line.split()[0] for line in answers] == ["food", "sport"]
    assert glassformer("audit", made, "--json").code == 0


def test_a_model_of_a_number_reads_with_it(body: Path, tmp_path: Path) -> None:
    rows = [
        ("we like the bread", 1.5),
        ("we like the goal", 9.25),
        ("we like the cheese", 2.0),
        ("we like the match", 9.0),
    ] * 10
    table = write_csv(
        tmp_path / "rows.csv",
        [(f"{text} {number}", str(value)) for number, (text, value) in enumerate(rows)],
        ("text", "price"),
    )
    made = tmp_path / "model"
    inputs = ("--label", "price", "--task", "number")
    trained = glassformer(
        "train", table, "--out", made, *QUICK, *inputs, "--set", "model.counting=none", "--set", f"model.body={body}"
    )
    assert trained.code == 0, trained.err
    assert "the body alone" in trained.err
    assert "Answers by ridge regression on word vectors alone." in (made / "README.md").read_text()
    asked = glassformer("predict", made, "the soup", "the team", "--json")
    food, sport = (each["prediction"] for each in asked.document["answers"])
    assert sport - food > 2


def test_a_folder_that_is_no_body_is_refused(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "rows.csv", [("good", "yes"), ("bad", "no")] * 10)
    asked = ("train", table, "--out", tmp_path / "m", *QUICK, "--set", "model.counting=auto")
    misused(glassformer(*asked, "--set", f"model.body={tmp_path}"), "holds no body")
    (tmp_path / "config.json").write_text("{}")
    misused(glassformer(*asked, "--set", f"model.body={tmp_path}"), f"if it is an encoder, write hf:{tmp_path}")
    refused = glassformer(*asked, "--set", "model.body=English")
    misused(refused, "there is no body English", "`english` comes with")
    assert "vocabulary" not in refused.err, "before the texts are read"
    assert not (tmp_path / "m" / "config.json").exists()
