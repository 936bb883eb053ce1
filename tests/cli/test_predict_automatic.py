import csv
import io
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from glassformer import TextClassifier
from glassformer.targets.labels.held_out import HeldOutAnswers
from glassformer.targets.review import ReviewRule
from tests.cli.shards import answers, write_shards
from tests.cli.terminal import Outcome, glassformer, misused
from tests.trained import Trained, write_csv

SURE, UNSURE = "good good great fine film", "zzz"


def rule(model: Trained, share: float) -> ReviewRule:
    metrics = json.loads((model.folder / "metrics.json").read_text(encoding="utf-8"))
    found = HeldOutAnswers.model_validate(metrics["held_out_answers"]).thresholds
    assert found is not None
    return found.rule(share)


def test_a_text_says_whether_it_needs_review(reviews: Trained) -> None:
    said = glassformer("predict", reviews.folder, SURE, UNSURE, " ", "--automatic", "0.9", "--top-k", 1)
    cells = [line.split("\t") for line in said.out.splitlines()]
    assert [line[2] for line in cells] == ["automatic", "needs review", ""]
    assert said.err.startswith(f"note: {rule(reviews, 0.9)}\n")
    assert "note: 1 of 3 texts needs review\n" in said.err
    plain = glassformer("predict", reviews.folder, SURE, "--json").document["answers"][0]
    assert "needs_review" not in plain


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_json_and_tables_have_the_column(reviews: Trained, tmp_path: Path, share: float) -> None:
    automatic, below = ("--automatic", share), rule(reviews, share).below
    piped = glassformer("predict", reviews.folder, "--jsonl", *automatic, stdin=f"{SURE}\n \n{UNSURE}\n".encode())
    lines = list(map(json.loads, piped.out.splitlines()))
    expected = [None if line["confidence"] is None else line["confidence"] < below for line in lines]
    assert [line["needs_review"] for line in lines] == expected
    table = write_csv(tmp_path / "new.csv", [(SURE,), (" ",), (UNSURE,)], ("text",))
    rows = list(csv.DictReader(io.StringIO(glassformer("predict", reviews.folder, "--file", table, *automatic).out)))
    as_cells = ["" if each is None else str(each).lower() for each in expected]
    assert [row["needs_review"] for row in rows] == as_cells
    assert list(rows[0])[-1] == "needs_review"
    out = tmp_path / "answers.jsonl"
    said = glassformer("predict", reviews.folder, "--file", table, "--out", out, "--json", *automatic)
    assert said.document["needs_review"] == expected.count(True)
    assert [json.loads(line)["needs_review"] for line in out.read_text().splitlines()] == expected


def test_the_rows_that_gave_the_threshold_come_out_as_asked(attending: Trained) -> None:
    """The model without a counting reader has learned none of its validation rows."""
    found = rule(attending, 0.9)
    assert found.held_out_rows * 0.9 <= found.automatic <= found.held_out_rows
    document = glassformer("predict", attending.folder, SURE, "--automatic", "0.9", "--json").document["answers"][0]
    assert document["needs_review"] == (document["confidence"] < found.below)


def test_an_exported_model_knows_its_thresholds(reviews: Trained, tmp_path: Path) -> None:
    out = tmp_path / "onnx"
    assert glassformer("export", reviews.folder, "--format", "onnx", "--out", out).code == 0
    asked = ("--automatic", "0.8", "--json")
    ours, theirs = (glassformer("predict", folder, SURE, UNSURE, *asked) for folder in (reviews.folder, out))
    assert theirs.document == ours.document
    assert theirs.err.splitlines()[0] == f"note: {rule(reviews, 0.8)}"


def test_several_labels_go_by_the_least_certain(tags: Trained) -> None:
    answered = glassformer("predict", tags.folder, "good film", "nothing", "--automatic", "0.9", "--json")
    for answer in answered.document["answers"]:
        assert answer["needs_review"] == (answer["confidence"] < rule(tags, 0.9).below)


def test_shards_have_the_column_and_go_on_with_the_same_share(reviews: Trained, tmp_path: Path) -> None:
    shards, out = write_shards(tmp_path / "shards", 2, 20), tmp_path / "answers"

    def run(*more: object, folder: Path = out) -> Outcome:
        return glassformer("predict", reviews.folder, "--file", shards, "--out", folder, *more)

    said = run("--automatic", "0.9", "--json")
    found = answers(out)
    expected = found["confidence"] < rule(reviews, 0.9).below
    assert found["needs_review"].to_list() == expected.to_list()
    assert said.document["needs_review"] == expected.sum()
    assert f"note: {expected.sum()} of 40 rows" in said.err
    (out / "part-001.parquet").unlink()
    assert run("--automatic", "0.9", "--json").document["needs_review"] == expected.sum()
    misused(run("--automatic", "0.8"), "was begun with another --automatic, or without it", "--overwrite")
    misused(run(), "was begun with another --automatic")
    plain = tmp_path / "plain"
    assert "needs_review" not in run("--json", folder=plain).document
    assert "needs_review" not in pl.read_parquet(plain / "*.parquet").columns


@pytest.mark.parametrize("share", ["1.5", "0", "-0.1", "90", "nan", "0.925"])
def test_a_share_that_is_none_is_refused(reviews: Trained, share: str) -> None:
    said = glassformer("predict", reviews.folder, SURE, f"--automatic={share}")
    misused(said, f"--automatic {share}: give a share from 0.01 to 1 in whole percents, such as 0.9")


def test_a_word_is_no_share(reviews: Trained) -> None:
    said = glassformer("predict", reviews.folder, SURE, "--automatic", "most")
    assert (said.code, said.out) == (2, "")
    assert "Invalid value for '--automatic'" in said.err


@pytest.mark.usefixtures("unsealed")
def test_an_older_model_says_that_it_has_no_thresholds(reviews: Trained, tmp_path: Path) -> None:
    old = shutil.copytree(reviews.folder, tmp_path / "old")
    metrics = json.loads((old / "metrics.json").read_text(encoding="utf-8"))
    del metrics["held_out_answers"]["thresholds"]
    (old / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")
    table = write_csv(tmp_path / "new.csv", [(SURE,)], ("text",))
    shards, out = write_shards(tmp_path / "shards", 1, 5), tmp_path / "answers"
    for given in ([SURE], ["--file", table, "--out", tmp_path / "a.csv"], ["--file", shards, "--out", out]):
        said = glassformer("predict", old, *given, "--automatic", "0.9")
        misused(said, "this model does not know how sure it was of held-out rows", "train it again with")
    assert not (tmp_path / "a.csv").exists()
    assert not out.exists()
    assert glassformer("predict", old, SURE).code == 0


def test_a_table_that_has_the_column_is_refused_only_then(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "new.csv", [(SURE, "yes")], ("text", "needs_review"))
    for style in ((), ("--jsonl",)):
        said = glassformer("predict", reviews.folder, "--file", table, "--automatic", "0.9", *style)
        misused(said, "already has a column 'needs_review'", "rename the column")
        assert glassformer("predict", reviews.folder, "--file", table, *style).code == 0


def test_evaluate_says_what_is_wrong_among_the_surest(reviews: Trained, tmp_path: Path) -> None:
    said = glassformer("evaluate", reviews.folder, reviews.table, "--out", tmp_path / "e")
    shares = json.loads((tmp_path / "e" / "metrics.json").read_text())["review"]["shares"]
    found = shares[1]["threshold"]
    assert (
        f"\nwith --automatic 0.9, a person answers {1 - found['coverage']['value']:.1%} of these texts; "
        f"of the model's answers to the others, {found['error']['value']:.1%} are wrong\n"
    ) in said.out
    assert [share["asked"] for share in shares] == [0.8, 0.9, 0.95, 1.0]
    assert shares[1]["threshold"]["confidence"] == rule(reviews, 0.9).below
    assert "<h2>Send to a person</h2>" in (tmp_path / "e" / "report.html").read_text(encoding="utf-8")


def test_from_python(reviews: Trained) -> None:
    classifier = TextClassifier.load(reviews.folder)
    confidences = classifier.predict_proba([SURE, UNSURE]).max(axis=1)
    assert classifier.needs_review([SURE, UNSURE]).tolist() == (confidences < rule(reviews, 0.9).below).tolist()
    least = classifier.predictor_.thresholds.label_threshold(0.95)
    sets = classifier.label_sets([SURE, UNSURE], coverage=0.95)
    for labels, probs in zip(sets, classifier.predict_proba([SURE, UNSURE]), strict=True):
        expected = {label for label, prob in zip(classifier.classes_, probs, strict=True) if prob >= least}
        assert set(labels) == expected
