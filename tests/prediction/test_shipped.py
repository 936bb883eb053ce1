"""Models that come with the package are found by name, wherever a model can be named."""

import re
from pathlib import Path

import pytest

from glassformer import TextClassifier
from glassformer.prediction.shipped import SHIPPED, folder_of, is_shipped, shipped_names
from tests.cli.terminal import glassformer, misused

NAME = "sentiment-en"
MOST_BYTES = 8_000_000


def test_the_names_are_those_of_the_folders() -> None:
    assert shipped_names() == [NAME]


def test_a_name_is_a_folder_of_the_package_unless_there_is_one_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert folder_of(NAME) == SHIPPED / NAME
    assert folder_of(Path(NAME)) == SHIPPED / NAME
    assert folder_of("other") == Path("other")
    (tmp_path / NAME).mkdir()
    assert folder_of(NAME) == Path(NAME)


def test_only_folders_of_the_package_are_shipped(tmp_path: Path) -> None:
    assert is_shipped(SHIPPED / NAME)
    assert not is_shipped(tmp_path / NAME)


def test_it_is_small_and_holds_no_texts() -> None:
    files = {path.name: path.stat().st_size for path in (SHIPPED / NAME).iterdir()}
    assert sum(files.values()) <= MOST_BYTES
    assert "training-texts.jsonl" not in files
    for vocabulary in ("tokenizer.json", "counting.json"):
        names = re.findall(r"@\w+", (SHIPPED / NAME / vocabulary).read_text(encoding="utf-8"))
        assert set(names) <= {"@user"}, "users of the training tweets are masked"


@pytest.mark.parametrize("text", ["the plot is thin but i loved it", "a wonderful film", "best phone that i ever had"])
def test_it_finds_praise(text: str) -> None:
    assert TextClassifier.load(NAME).predict([text]) == ["positive"]


@pytest.mark.parametrize("text", ["a dull and stupid film", "it broke after a week, i hate it", "so sad and so bored"])
def test_it_finds_blame(text: str) -> None:
    assert TextClassifier.load(NAME).predict([text]) == ["negative"]


def test_it_knows_which_answers_need_review() -> None:
    said = glassformer("predict", NAME, "i loved it", "The parcel came on Tuesday", "--automatic", "0.9")
    assert [line.split("\t")[2] for line in said.out.splitlines()] == ["automatic", "needs review"]
    assert "Of 4,882 held-out rows" in said.err


def test_commands_know_it_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert glassformer("predict", NAME, "i loved it").out.startswith("positive")
    assert "positive" in glassformer("explain", NAME, "i loved it").out
    refusal = "sentiment-en comes with glassformer, and nothing is written beside it; add --out FOLDER"
    misused(glassformer("evaluate", NAME, "polarity"), refusal)
    assert not list(tmp_path.iterdir())
