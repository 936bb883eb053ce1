import re
from pathlib import Path

import pytest

from glassformer.cli import output
from tests.cli.conftest import Trained
from tests.cli.terminal import glassformer, misused

TEXT = "a dull play, but a good film"


def numbers(line: str) -> list[float]:
    return [float(found.replace("−", "-")) for found in re.findall(r"[+−]\d+\.\d+", line)]


def test_the_shares_of_the_words_add_up(reviews: Trained) -> None:
    outcome = glassformer("explain", reviews.folder, TEXT)
    assert outcome.code == 0
    first, _, text, _, heading, *lines = outcome.out.splitlines()
    assert re.fullmatch(r".+ \(\d+\.\d%\), rather than .+", first)
    assert text == TEXT
    assert heading.split() == ["share"]  # by counting alone
    shares = [numbers(line)[-1] for line in lines if numbers(line)]
    assert lines[len(shares) - 1].startswith("sum")
    assert sum(shares[:-1]) == pytest.approx(shares[-1], abs=0.05)


def test_json_holds_every_word(reviews: Trained) -> None:
    found = glassformer("explain", reviews.folder, TEXT, "--json").document
    assert [TEXT[word["start"] : word["end"]] for word in found["words"]] == [word["word"] for word in found["words"]]
    parts = sum(word["total"] for word in found["words"]) + found["nothing"] + found["error"]
    assert parts == pytest.approx(found["margin"], abs=1e-5)


def test_a_page_is_written(reviews: Trained, tmp_path: Path) -> None:
    page = tmp_path / "why.html"
    assert glassformer("explain", reviews.folder, "good <b>film</b>", "--html", page).code == 0
    text = page.read_text(encoding="utf-8")
    assert "&lt;" in text
    assert "<b>" not in text


def test_words_are_painted_only_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pieces = [output.Piece("good\x1b[2J", "strongly for"), output.Piece(" film", "plain")]
    output.show_painted(pieces)
    assert capsys.readouterr().out == "good\ufffd[2J film"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.delenv("NO_COLOR", raising=False)
    output.show_painted(pieces)
    assert capsys.readouterr().out == "\x1b[1;97;44mgood\ufffd[2J\x1b[0m film"
    monkeypatch.setenv("NO_COLOR", "1")
    output.show_painted(pieces)
    assert "\x1b" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([" "], "the text is empty, so there is nothing to explain"),
        ([TEXT, "--label", "superb"], "--label superb: the model has no such label; it has "),
        ([TEXT, "--method", "magic"], "--method magic: no such method; choose from integrated-gradients, "),
    ],
)
def test_what_cannot_be_explained(arguments: list[str], says: str, reviews: Trained) -> None:
    misused(glassformer("explain", reviews.folder, *arguments), says)
