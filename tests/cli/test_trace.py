from pathlib import Path

import numpy as np
import pytest

from glassformer.experiments.published.systems import SYSTEMS
from tests.cli.terminal import QUICK, glassformer, misused
from tests.trained import Trained

TEXT = "a dull play, but a good film"


def test_a_list_names_every_matrix_with_its_shape(attending: Trained) -> None:
    outcome = glassformer("trace", attending.folder, TEXT, "--list")
    assert outcome.code == 0
    lines = [line.split("  ") for line in outcome.out.split("\n\n")[0].splitlines()]
    shapes = {line[0].strip(): next(cell for cell in line[1:] if cell).strip() for line in lines}
    assert shapes["logits"] == "2 classes"
    assert shapes["embedding"].startswith("9 tokens × ")
    numbers = {line[0].strip(): [cell.strip() for cell in line[1:] if cell][1] for line in lines}
    assert sum(map(float, numbers["probabilities"].split())) == pytest.approx(1, abs=1e-3)
    assert numbers["embedding"] == "…"
    assert {"token_ids", "blocks.0.attention.weights", "probabilities"} <= shapes.keys()
    assert outcome.out.splitlines()[-1].startswith("The answer: ")


def test_a_list_leaves_out_a_transformer_that_does_not_answer(reviews: Trained) -> None:
    outcome = glassformer("trace", reviews.folder, TEXT, "--list")
    assert outcome.out.count("plays no part in the answer. The list leaves out its steps.") == 1
    assert "plays no part" not in outcome.err
    names = [line.split()[0] for line in outcome.out.split("\n\n")[0].splitlines()[1:]]
    assert not {"token_ids", "logits", "transformer.weighted"} & {*names}
    assert names[0].startswith("counting.")
    assert [name for name in names if name.endswith(".weighted")] == ["counting.weighted", "body.weighted"]
    assert {"counting.ngrams", "sum"} <= {*names}
    assert names[-1] == "probabilities"


def test_it_says_that_the_transformer_plays_no_part(reviews: Trained, attending: Trained, tmp_path: Path) -> None:
    page = tmp_path / "trace.html"
    said = (
        "This model answers by counting and the body alone: its transformer is traced, but plays no part in the answer."
    )
    listed = glassformer("trace", reviews.folder, TEXT, "--list", "--html", page)
    for where in (listed.out, listed.err, page.read_text(encoding="utf-8")):
        assert said in where
    assert glassformer("trace", reviews.folder, TEXT, "--json").document["asked"] == ["counting", "body"]
    again = ("trace", attending.folder, TEXT, "--list", "--html", page)
    misused(glassformer(*again), f"{page} is already there; choose another --html, or --overwrite to replace it")
    misused(glassformer("trace", attending.folder, TEXT, "--npz", page), "choose another --npz, or --overwrite")
    lost = tmp_path / "lost"
    lost.symlink_to("gone")
    for flag in ("--html", "--npz"):
        misused(glassformer("trace", attending.folder, TEXT, flag, lost), "lost is a link that leads nowhere")
    assert said in page.read_text(encoding="utf-8")
    listed = glassformer(*again, "--overwrite")
    for where in (listed.out, listed.err, page.read_text(encoding="utf-8")):
        assert "alone: its transformer" not in where


def test_numbers_are_written_and_printed(reviews: Trained, tmp_path: Path) -> None:
    outcome = glassformer("trace", reviews.folder, TEXT, "--npz", tmp_path / "trace.npz", "--json")
    arrays = np.load(tmp_path / "trace.npz", allow_pickle=False)
    by_name = {matrix["name"]: matrix["values"] for matrix in outcome.document["matrices"]}
    np.testing.assert_array_equal(arrays["logits"], np.array(by_name["logits"], np.float32))
    answer = glassformer("predict", reviews.folder, TEXT, "--json").document["answers"][0]["confidence"]
    assert max(by_name["probabilities"]) == pytest.approx(answer, abs=1e-5)


def test_a_list_is_for_people(reviews: Trained, tmp_path: Path) -> None:
    said = glassformer("trace", reviews.folder, TEXT, "--npz", tmp_path / "trace.npz", "--list", "--json")
    misused(said, "--json prints what --list shows and all numbers; leave one of them out")
    assert not (tmp_path / "trace.npz").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (" ", "the text is empty; give one with words"),
        ("good film " * 6_000, "the text has 12,000 tokens, and a trace shows what the model reads at once, at most "),
    ],
)
def test_what_cannot_be_traced(text: str, says: str, reviews: Trained) -> None:
    misused(glassformer("trace", reviews.folder, text), says)


def test_a_folder_of_another_kind(tmp_path: Path) -> None:
    corpus = tmp_path / "notes.txt"
    corpus.write_text("\n".join(f"a good film, and {number} dull plays" for number in range(80)), encoding="utf-8")
    folder = tmp_path / "lm"
    made = glassformer("pretrain", corpus, "--out", folder, "--preset", "tiny", "--set", "training.max_steps=1")
    assert made.code == 0, made.err
    misused(glassformer("trace", folder, TEXT), "holds a language model")


def test_a_page_is_written_and_an_exercise_needs_one(reviews: Trained, tmp_path: Path) -> None:
    page = tmp_path / "trace.html"
    outcome = glassformer("trace", reviews.folder, TEXT, "--html", page, "--exercise")
    assert (outcome.code, outcome.out) == (0, "")
    assert '"exercise": [{' in page.read_text(encoding="utf-8")
    misused(glassformer("trace", reviews.folder, TEXT, "--exercise"), "name its file with --html")
    misused(glassformer("trace", reviews.folder, TEXT, "--overwrite"), "--overwrite goes with --html or --npz")


@pytest.mark.parametrize("recipe", sorted(set(SYSTEMS) - {"vinh-transfer"}))
def test_a_page_of_each_published_system(recipe: str, reviews: Trained, tmp_path: Path) -> None:
    folder, page = tmp_path / "model", tmp_path / "trace.html"
    steps = ("--set", "training.max_steps=2", "--set", "tokenizer.max_tokens=10", "--set", "model.max_seq_len=11")
    made = glassformer("train", reviews.table, "--recipe", recipe, *steps, *QUICK[-2:], "--out", folder)
    assert made.code == 0, made.err
    outcome = glassformer("trace", folder, TEXT, "--html", page, "--exercise")
    assert (outcome.code, outcome.out) == (0, "")
    assert '"exercise": [{' in page.read_text(encoding="utf-8")
