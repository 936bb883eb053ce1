from pathlib import Path

import pytest

from glassformer.errors import GlassformerError, UsageError
from glassformer.words.dictionary import WORDNET_FOLDERS, TableDictionary, WordNet, open_dictionary, read_definitions
from tests.words.samples import Senses, write_wordnet

SENSES: Senses = {
    "noun": [
        (["child", "kid"], "a young person of either sex; \"books for children\"; \"they're just kids\"", []),
        (["box"], "a (usually rectangular) container; may have a lid", []),
        (["dull"], "a noun for the test", []),
        (["Ice_cream"], 'frozen dessert; "a cone"', []),
    ],
    "verb": [(["amaze", "dull"], "affect with wonder", []), (["hope"], 'expect and wish; "I hope"', [])],
    "adj": [
        (["dull", "boring"], "lacking in liveliness or animation", [2]),
        (["dull"], "emitting very little light", []),
        (["uninteresting(p)"], "arousing no interest", []),
        (["nice"], "pleasant", []),
    ],
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_wordnet(tmp_path / "wordnet", SENSES)


def test_a_definition_is_the_gloss_without_examples(folder: Path) -> None:
    wordnet = WordNet(folder)
    assert wordnet.define("child") == "a young person of either sex"
    assert wordnet.define("KID") == "a young person of either sex"
    assert wordnet.define("box") == "a (usually rectangular) container; may have a lid"
    assert wordnet.define("ice cream") == "frozen dessert"
    assert wordnet.define("uninteresting") == "arousing no interest"
    assert wordnet.define("this") is None
    assert wordnet.define("") is None


def test_an_inflected_form_means_what_its_base_form_does(folder: Path) -> None:
    (folder / "noun.exc").write_text("children child\n")
    wordnet = WordNet(folder)
    assert wordnet.define("children") == wordnet.define("child")
    for form, base in {"boxes": "box", "kids": "kid", "amazed": "amaze", "amazing": "amaze", "hoped": "hope",
                       "nicest": "nice"}.items():  # fmt: skip
        assert wordnet.define(form) == wordnet.define(base), form
    assert wordnet.define("duller") == "lacking in liveliness or animation"  # the adjective, not the noun
    assert wordnet.define("hopely") is None


def test_a_word_means_what_it_is_tagged_as_most_often(folder: Path) -> None:
    assert WordNet(folder).define("dull") == "a noun for the test"
    (folder / "cntlist.rev").write_text("dull%1:04:00:: 1 3\ndull%3:00:00:: 1 5\ndull%5:00:01:bright:00 2 6\n")
    wordnet = WordNet(folder)
    assert wordnet.define("dull") == "emitting very little light"
    assert wordnet.synonyms("dull") == ["boring", "amaze", "uninteresting"]


def test_synonyms(folder: Path) -> None:
    wordnet = WordNet(folder)
    assert wordnet.synonyms("child") == ["kid"]
    assert wordnet.synonyms("boring") == ["dull", "uninteresting"]
    assert wordnet.synonyms("box") == []
    assert wordnet.synonyms("unheard") == []


def test_a_folder_without_wordnet(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"index\.noun is missing"):
        WordNet(tmp_path)
    (folder / "data.adv").unlink()
    with pytest.raises(UsageError, match=r"data\.adv is missing"):
        open_dictionary("wordnet", folder)
    monkeypatch.setattr("glassformer.words.dictionary.WORDNET_FOLDERS", (tmp_path / "nowhere",))
    with pytest.raises(UsageError, match=r"wordnet-base.*`dictionary_dir=`"):
        open_dictionary("wordnet")


def test_damaged_files(folder: Path) -> None:
    data = folder / "data.noun"
    whole = data.read_text()
    data.write_text("one more line\n" + whole)
    with pytest.raises(GlassformerError, match=r"data\.noun does not belong to index\.noun"):
        WordNet(folder).define("child")
    (folder / "cntlist.rev").write_text("dull%1:04:00:: 1\n")
    with pytest.raises(GlassformerError, match=r"cntlist\.rev is damaged"):
        WordNet(folder)
    (folder / "index.verb").write_text("amaze v\n")
    with pytest.raises(GlassformerError, match=r"index\.verb is damaged"):
        WordNet(folder)


def test_a_table_is_a_dictionary(tmp_path: Path) -> None:
    table = tmp_path / "words.tsv"
    table.write_text("word\tdefinition\nFurchtbar\tsehr schlecht\nfein\t\nfurchtbar\tsonst etwas\n")
    dictionary = open_dictionary(str(table))
    assert isinstance(dictionary, TableDictionary)
    assert dictionary.name == str(table)
    assert dictionary.define("furchtbar") == dictionary.define("FURCHTBAR") == "sehr schlecht"
    assert dictionary.define("fein") is None
    with pytest.raises(UsageError, match="`dictionary_dir=`"):
        open_dictionary(str(table), tmp_path)


def test_rows_of_a_table(tmp_path: Path) -> None:
    table = tmp_path / "words.jsonl"
    table.write_text('{"word": "fine", "definition": "good"}\n{"word": " dull "}\n')
    assert list(read_definitions(table, defined=False)) == [("fine", "good"), ("dull", None)]
    table.write_text('{"word": "fine"}\n{"definition": "good"}\n')
    with pytest.raises(UsageError, match=r"words.jsonl, row 2: the word is missing"):
        list(read_definitions(table, defined=False))
    table.write_text('{"term": "fine"}\n')
    with pytest.raises(UsageError, match="no column 'word'"):
        list(read_definitions(table, defined=False))


@pytest.mark.skipif(not (WORDNET_FOLDERS[0] / "index.noun").is_file(), reason="no WordNet is installed here")
def test_the_installed_wordnet() -> None:
    wordnet = open_dictionary("wordnet")
    assert isinstance(wordnet, WordNet)
    assert wordnet.define("flabbergasted") == "as if struck dumb with astonishment and surprise"
    assert wordnet.define("children") == "a young person of either sex"
    assert wordnet.define("dull") == "lacking in liveliness or animation"
    assert wordnet.define("movie") == wordnet.define("films")
    assert "boring" in wordnet.synonyms("dull")
    assert wordnet.define("qwertyuiop") is None
