from pathlib import Path

import pytest

from glassformer.cli.learn_word import _near
from glassformer.prediction.model_folder import CLASSIFIER, LANGUAGE_MODEL, load_model, save_model
from tests.cli.terminal import glassformer, misused
from tests.prediction.language import trained_language_model
from tests.trained import Trained
from tests.words.samples import (
    KNOWN,
    MASKED,
    definitions_of_known,
    language_model_of_known,
    trained_on_known,
    write_wordnet,
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_model(tmp_path / "model", trained_on_known(), card="the old one")
    return tmp_path / "model"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A dictionary of the known words, and of two that are not known."""
    path = tmp_path / "dictionary.csv"
    rows = definitions_of_known() | {"gran": "aao gruff", "gruff": "bbo ddo"}
    path.write_text("word,definition\n" + "".join(f"{word},{text}\n" for word, text in rows.items()))
    return path


def test_a_word_by_its_definition(model: Path) -> None:
    outcome = glassformer("learn-word", model, "Gran", "--definition", "aao or bbo")
    assert outcome.code == 0, outcome.err
    made = model.with_name("model-words")
    first, second, *_, last = outcome.out.splitlines()
    assert first.split() == ["new", "word", "nearest", "known", "words,", "by", "cosine"]
    name, nearest, *_ = second.split()
    assert name == "gran"
    assert nearest in KNOWN
    assert last == f"{made}: {model} and 1 word more"
    assert "no map: without --dictionary" in outcome.err
    assert "unknown in the definition of 'gran': or\n" in outcome.err
    assert f"next: glassformer predict {made} gran\n" in outcome.err
    answer = glassformer("predict", made, "gran")
    assert answer.code == 0
    assert "gran" not in answer.err  # it is not an unknown word
    assert "read as unknown: gran" in glassformer("predict", model, "gran").err


def test_a_word_from_a_dictionary(model: Path, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "other"
    outcome = glassformer("learn-word", model, "gran", "--dictionary", table, "--out", out, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.document["model"] == str(out)
    (word,) = outcome.document["words"]
    assert (word["word"], word["definition"], word["source"], word["method"]) == (
        "gran",
        "aao gruff",
        str(table),
        "map",
    )
    assert word["unknown"] == []
    assert len(word["nearest"]) == 5
    assert outcome.document["map"]["words"] == 70
    assert "map: fitted on 70 known words; cosine to the true embedding of" in outcome.err
    flat = glassformer(
        "learn-word", model, "gran", "--dictionary", table, "--out", tmp_path / "b", "--depth", 0, "--json"
    )
    assert flat.document["words"][0]["unknown"] == ["gruff"]


@pytest.mark.parametrize("kind", ["word", "bpe"])
def test_a_language_model_learns_a_word_and_writes_on(kind: str, table: Path, tmp_path: Path) -> None:
    save_model(tmp_path / "lm", language_model_of_known(kind), card="# It writes\n")
    made = tmp_path / "lm-words"
    outcome = glassformer("learn-word", tmp_path / "lm", "gran", "--definition", "aao bbo", "--dictionary", table)
    assert outcome.code == 0, outcome.err
    assert outcome.out.splitlines()[-1] == f"{made}: {tmp_path / 'lm'} and 1 word more"
    assert (", or what words begin with" in outcome.out) == (kind == "bpe")
    assert "in pieces" not in outcome.err
    unread = glassformer(
        "learn-word", tmp_path / "lm", "gleam", "--definition", "aao zzz", "--out", tmp_path / "other"
    ).err
    said = "read in pieces in" if kind == "bpe" else "unknown in"
    assert f"{said} the definition of 'gleam': zzz" in unread
    assert f"next: glassformer generate {made} gran\n" in outcome.err
    assert (made / "README.md").read_text().startswith("# It writes\n")
    written = glassformer("generate", made, "aao gran bbo", "--max-tokens", 3)
    assert written.code == 0, written.err
    assert written.out.startswith("aao gran bbo")
    assert "gran" not in written.err
    assert ("unknown: gran" in glassformer("generate", tmp_path / "lm", "gran").err) == (kind == "word")


def test_a_model_that_fills_in_learns_many_words(table: Path, tmp_path: Path) -> None:
    save_model(tmp_path / "lm", language_model_of_known(model=MASKED), card="")
    file = tmp_path / "words.csv"
    file.write_text("word,definition\ngran,\ngleam,aao bbo\n")
    outcome = glassformer("learn-word", tmp_path / "lm", "--file", file, "--dictionary", table, "--json")
    assert outcome.code == 0, outcome.err
    assert [word["method"] for word in outcome.document["words"]] == ["map", "map"]
    assert (
        "next:"
        not in glassformer("learn-word", tmp_path / "lm", "x", "--definition", "aao", "--out", tmp_path / "b").err
    )
    words = load_model(tmp_path / "lm-words", LANGUAGE_MODEL).config.new_words
    assert [(new.word, new.source) for new in words] == [("gran", str(table)), ("gleam", "given")]


def test_a_language_model_of_bytes_is_refused(tmp_path: Path) -> None:
    save_model(tmp_path / "lm", trained_language_model(), card="")
    misused(glassformer("learn-word", tmp_path / "lm", "gran", "--definition", "x"), "'byte' has no words")


def test_many_words_from_a_file(model: Path, table: Path, tmp_path: Path) -> None:
    file = tmp_path / "words.jsonl"
    file.write_text(
        '{"word": "gleam", "definition": "aao"}\n{"word": "gran"}\n{"word": "aao", "definition": "x"}\n{"word": "zz"}\n'
    )
    outcome = glassformer("learn-word", model, "--file", file, "--dictionary", table)
    assert outcome.code == 0, outcome.err
    assert "left out: 'aao', in the vocabulary already\n" in outcome.err
    assert f"left out: 'zz', it has no definition in {table}\n" in outcome.err
    config = load_model(model.with_name("model-words"), CLASSIFIER).config
    assert [(new.word, new.source) for new in config.new_words] == [("gleam", "given"), ("gran", str(table))]


def test_wordnet_in_a_folder(model: Path, tmp_path: Path) -> None:
    folder = write_wordnet(tmp_path / "wordnet", {"noun": [(["gran"], 'aao bbo; "a gran"', [])]})
    outcome = glassformer("learn-word", model, "gran", "--dictionary", "wordnet", "--dictionary-dir", folder, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.document["words"][0]["definition"] == "aao bbo"
    assert outcome.document["map"] is None
    assert "no map: wordnet defines too few of the words that the model knows" in outcome.err


def test_nothing_is_overwritten(model: Path) -> None:
    first = ("learn-word", model, "gran", "--definition", "aao")
    assert glassformer(*first).code == 0
    misused(glassformer(*first), "model-words exists already", "--out")
    misused(glassformer("learn-word", model, "aao", "--definition", "bbo"), "exists already")  # before any work
    misused(glassformer(*first, "--out", model), "exists already")


def test_the_folder_one_stands_in_has_a_name_too(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model)
    assert glassformer("learn-word", ".", "gran", "--definition", "aao").code == 0
    assert (model.with_name("model-words") / "config.json").is_file()


def test_misuse(model: Path, table: Path, tmp_path: Path) -> None:
    misused(glassformer("learn-word", model), "give one word, or --file")
    misused(glassformer("learn-word", model, "gran", "--file", table), "give one word, or --file")
    misused(glassformer("learn-word", model, "--file", table, "--definition", "x"), "--definition needs a single word")
    misused(glassformer("learn-word", model, "gran"), "what does 'gran' mean?", "--definition", "--dictionary")
    misused(glassformer("learn-word", model, "gran", "--definition", " "), "what does 'gran' mean?")
    misused(glassformer("learn-word", model, "gran", "--definition", "x", "--dictionary-dir", "y"), "--dictionary-dir")
    misused(glassformer("learn-word", model, "aao", "--definition", "bbo"), "'aao': in the vocabulary already")
    misused(glassformer("learn-word", model, "gran", "--dictionary", "x.csv"), "neither 'wordnet' nor a table")
    (tmp_path / "meanings.csv").write_text("word,meaning\ngran,the cat\n")
    said = glassformer("learn-word", model, "--file", tmp_path / "meanings.csv")
    misused(said, "no column 'definition' (it has: word, meaning)")
    misused(glassformer("learn-word", tmp_path / "nothing", "gran", "--definition", "x"), "no such model folder")
    assert not model.with_name("model-words").exists()


def test_a_long_word_of_a_definition_is_not_echoed(model: Path) -> None:
    outcome = glassformer("learn-word", model, "zorp", "--definition", f"{KNOWN[0]} {'x' * 100_000}")
    assert outcome.code == 0, outcome.err
    assert "in the definition of 'zorp': xxx" in outcome.err
    assert len(outcome.err) < 1_000


def test_a_model_that_answers_by_counting_is_warned_of(model: Path, reviews: Trained, tmp_path: Path) -> None:
    assert "so the model answers by counting" in reviews.outcome.err
    lesson = ("gleaming", "--definition", "a good film", "--out")
    warning = "warning: the model answers by counting and the body alone, so a new word changes none of its answers\n"
    assert glassformer("learn-word", reviews.folder, *lesson, tmp_path / "a").err.startswith(warning)
    misused(glassformer("learn-word", reviews.folder, "good", *lesson[1:], tmp_path / "c"), warning)  # before the work
    assert warning not in glassformer("learn-word", model, "gran", "--definition", "aao", "--out", tmp_path / "b").err


def test_words_that_are_all_equally_near_are_no_list() -> None:
    assert _near([("good", 0.91), ("film", 0.905), ("bad", 0.9)]) == (
        "none clearly: the 3 nearest lie within 0.02 of each other (0.91)"
    )
    assert _near([("good", 0.91), ("film", 0.8)]) == "good 0.91  film 0.80"
    assert _near([("good", 0.91)]) == "good 0.91"
    assert _near([]) == "none"
