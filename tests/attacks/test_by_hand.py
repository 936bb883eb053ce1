"""Rules, costs and settings as people write them: odd, far too many, or no file at all."""

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from glassformer.prediction.model_folder import save_model
from glassformer.readers.rules.matching import Matcher
from glassformer.readers.rules.parsing import parse_rules
from glassformer.readers.rules.saying import LabelSaying
from tests.attacks.answer import answered, nothing_lost
from tests.attacks.test_folders import sparse
from tests.cli.conftest import quick as quick
from tests.cli.terminal import Outcome, glassformer
from tests.matrix.samples import TARGETS, rows, write
from tests.prediction.language import trained_language_model
from tests.trained import Trained

RULES: dict[str, tuple[str | bytes, tuple[str, ...]]] = {
    "no-arrow": ('"a" yes\n', ("line 1", "is not a rule")),
    "nothing-after-the-arrow": ('"a" ->\n', ("line 1", "is not a rule")),
    "empty": ("", ("holds no rule",)),
    "a-mark-alone": (b"\xef\xbb\xbf", ("holds no rule",)),
    "utf-16": ('"a" -> very good'.encode("utf-16"), ("not in UTF-8",)),
    "halves-of-pairs": (b'"\xed\xa0\x80" -> very good\n', ("not in UTF-8",)),
    "label-with-a-nul": ('"a" -> very go\0od\n', ("line 1: no label 'very go\\x00od'",)),
    "label-that-clears-the-screen": ('"a" -> very good\x1b[2J\n', ("line 1: no label",)),
    "label-that-turns-round": ('"a" -> \u202every good\n', ("line 1: no label '\\u202every good'",)),
    "label-of-5000": ('"a" -> ' + "x" * 5_000, ("line 1: no label 'xxx",)),
    "label-far-away": ('"a" -> very good' + " " * 60_000 + "x\n", ("line 1: no label",)),
    "weight-1e400": ('"a" -> very good 1e400\n', ("line 1: no label 'very good 1e400'",)),
    "weight-nan": ('"a" -> very good nan\n', ("line 1: no label 'very good nan'",)),
    "weight-inf": ('"a" -> very good inf\n', ("line 1: no label 'very good inf'",)),
    "weight-negative": ('"a" -> very good -1\n', ("line 1: the weight -1", "`not`")),
    "weight-zero": ('"a" -> very good 0\n', ("line 1: the weight 0",)),
    "weight-of-5000-digits": ('"a" -> very good ' + "9" * 5_000 + "\n", ("line 1: the weight 999", "… is not above 0")),
    "weight-of-python": ('"a" -> very good 1_0\n', ("line 1: no label",)),
    "always-not": ('"a" -> not very good always\n', ("line 1: `always` decides",)),
    "phrase-of-1000-words": ('"' + "a " * 1_000 + '" -> very good\n', ("line 1: the phrase has 1000 words",)),
    "quotes-alone": ('"' * 60_000 + "\n", ("line 1", "is not a rule")),
    "arrows-alone": ("-> " * 30_000 + "\n", ("line 1", "is not a rule")),
    "slashes-alone": ("/" * 60_000 + " -> very good\n", ("line 1: the pattern has 59,998 characters",)),
    "pattern-nested": ("/" + "(" * 240 + "a" + ")" * 240 + "*/ -> very good\n", ("line 1", "any character")),
    "pattern-of-a-million": ("/(a{1000}){1000}/ -> very good\n", ("line 1: the pattern", "size limit")),
    "pattern-that-looks-ahead": ("/(?=a)b/ -> very good\n", ("line 1: the pattern", "not supported")),
    "pattern-that-refers-back": (r"/(a)\1/ -> very good", ("line 1: the pattern", "not supported")),
    "pattern-of-nothing": ("/a*/ -> very good\n", ("line 1: the pattern a* matches a text without",)),
    "pattern-without-end": ("/[/ -> very good\n", ("line 1: the pattern [ cannot be used",)),
    "pattern-of-no-letters": (r"/\p{Foo}/ -> very good", ("line 1: the pattern", "not found")),
    "pattern-of-half-a-pair": (r"/\x{d800}/ -> very good", ("line 1: the pattern", "Unicode")),
    "201-patterns": ("/a/ -> very good\n" * 201, ("holds 201 patterns",)),
    "50000-rules": ('"a" -> very good\n' * 50_000, ("holds 50,000 rules",)),
    "a-line-break-of-unicode": ('"a" -> very good\n"\u2028" -> very good\nb\n', ("line 2: the phrase has no word",)),
    "a-form-feed": ("# one\x0c two\nb\n", ("line 2: b is not a rule",)),
    "line-breaks-of-all-kinds": ("# one\r\n# two\r# three\nb\n", ("line 4: b is not a rule",)),
}  # fmt: skip
NUMBERS: dict[str, tuple[str, str]] = {
    "without-a-sign": ("3", "write +3 to add it, or 3 always to decide"),
    "nan": ("+nan", "'+nan' says nothing about a number"),
    "1e400": ("+1e400", "'+1e400' says nothing about a number"),
    "comma": ("+1,5", "'+1,5' says nothing about a number"),
    "another-minus": ("−2", "'−2' says nothing about a number"),
    "hexadecimal": ("+0x10", "'+0x10' says nothing about a number"),
    "inf-always": ("inf always", "'inf always' says nothing about a number"),
    "5000-digits": ("+" + "9" * 5_000, "is more than 500 standard deviations"),
    "in-cents": ("20000 always", "is it in the same unit?"),
}
COSTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "other-columns": ("a,b\n1,2\n", ("no column 'truth'", "a, b")),
    "no-cost": ("truth\nvery good\n", ("no column 'cost'",)),
    "a-word": ("truth,answer,cost\nvery good,,x\n", ("row 1: the cost 'x' is no number",)),
    "negative": ("truth,answer,cost\nvery good,,-1\n", ("row 1: the cost '-1' is no number",)),
    "nan": ("truth,answer,cost\nvery good,,nan\n", ("row 1: the cost 'nan' is no number",)),
    "infinite": ("truth,answer,cost\nvery good,,1e999\n", ("row 1: the cost '1e999' is no number",)),
    "header-alone": ("truth,answer,cost\n", ("no rows",)),
    "nothing": ("", ("is empty",)),
    "twice": ("truth,answer,cost\nvery good,,1\nvery good,,2\n", ("row 2: there is another cost",)),
    "twice-20000-times": ("truth,answer,cost\n" + "very good,,1\n" * 20_000, ("row 2: there is another cost",)),
    "label-of-none": ("truth,answer,cost\nnosuch,,1\n", ("row 1: there is no label 'nosuch'",)),
    "label-that-clears-the-screen": ("truth,answer,cost\nvery\x1b[2J,,1\n", ("row 1: there is no label 'very\\x1b",)),
    "label-of-markup": ("truth,answer,cost\n<img src=x>,,1\n", ("row 1: there is no label '<img src=x>'",)),
    "right-answer": ("truth,answer,cost\nvery good,very good,1\n", ("row 1", "costs nothing")),
    "semicolons-and-commas": ("truth;answer;cost\nvery good;;1,5\n", ("row 1: the cost '1,5' is no number",)),
    "review-of-a-truth": ("truth,answer,cost\n,review,0.3\nvery good,review,2\n", ("row 2", "leave the truth empty")),
    "no-truth": ("truth,answer,cost\n,very good,1\n", ("row 1: the truth is missing",)),
}  # fmt: skip
TYPED: dict[str, tuple[str, str]] = {
    "no-cost": ("very good=", "very good=: the cost '' is no number"),
    "no-label": ("=1", "=1: it is not clear what costs 1"),
    "equals-alone": ("=", "=: the cost '' is no number"),
    "label-alone": ("very good", "--costs 'very good': give a label and its cost"),
    "two-costs": ("very good=1=2", "there is no label 'very good=1'"),
    "hexadecimal": ("very good=0x10", "the cost '0x10' is no number"),
    "1e400": ("very good=1e400", "the cost '1e400' is no number"),
    "5000-digits": ("very good=" + "9" * 5_000, "999…: the cost '999"),
    "comma": ("very good=1,5", "the cost '1,5' is no number"),
    "nul": ("a\0=1", "there is no label 'a\\x00'"),
    "turned-round": ("\u202e=1", "there is no label '\\u202e'"),
    "nothing": ("", "is a folder"),
}
SETTINGS: dict[str, str] = {
    "model.d_model=True": "model.d_model = 'True'",
    "model.d_model=-0": "model.d_model = 0",
    "model.d_model=６４": "model.d_model = '６４'",
    "model.d_model=1;model.n_heads=1": "model.d_model = '1;model.n_heads=1'",
    "model.dropout=-0.1": "model.dropout = -0.1",
    'model.norm=["rms"]': "model.norm = ['rms']",
    "model.counting=tfidf,nb": "model.counting = 'tfidf,nb'",
    "model.readers=x": "model.readers = 'x'",
    "model.readers=['nosuch']": "no installed package has a reader 'nosuch'",
    "model.readers=['../x']": "no installed package has a reader '../x'",
    "model.n_heads=3": "d_model must be a multiple of n_heads",
    "model.max_seq_len=1": "model.max_seq_len = 1",
    "model.body=/dev/zero": "/dev/zero holds no body",
    "model.body=": "holds no body",
    "model.body=🙂": "there is no body 🙂",
    'model.body="a\\u0000b"': "there is no body",
    "model.body=hf:": "name a checkpoint",
    "model.body=hf:/dev": "/dev holds no config.json",
    "model.body=hf:../../x": "no such folder",
    "model.body=hf:~/x": "no such folder",
    "model.body=hf:a b": "no such folder",
    "model.body=hf:é/x": "no such folder",
    'model.body="hf:a\\u0000b"': "no such folder",
    'model.rules="a\\u0000b"': "null byte",
    "model.rules=/dev/zero": "larger than 1,000,000 bytes",
    "model.rules=~": "No such file",
    "tokenizer.vocab_size=1": "tokenizer.vocab_size = 1",
    "tokenizer.kind=x": "tokenizer.kind = 'x'",
    "validation.file=/dev/zero": "the extension does not say",
    'validation.file="a\\u0000b"': "neither a file nor a known data set",
    "validation.fraction=1": "validation.fraction = 1",
    "validation.min_rows=-1": "validation.min_rows = -1",
    "validation.group=nosuch": "no column 'nosuch'",
    "training.optimizer=x": "training.optimizer = 'x'",
    "training.batch_size=0": "training.batch_size = 0",
    "training.learning_rate=0": "training.learning_rate = 0",
    "training.label_smoothing=1": "training.label_smoothing = 1",
    "training.class_weights={}": "training.class_weights names the labels []",
    "training.class_weights={nosuch=1}": "training.class_weights names the labels ['nosuch']",
    "training.clip=0": "training.clip = 0",
    "pretraining.max_steps=-1": "pretraining.max_steps = -1",
    "description=x": "name the section too",
    "[x]=1": "name the section too",
    "a.b.c.d=1": "unknown section [a]",
    "..=1": "unknown section []",
    "\u202emodel.d_model=1": "unknown section [\\u202emodel]",
}
RECIPES: dict[str, tuple[str, str]] = {
    "carriage-returns-alone": ("[training]\repochs=0\r", "not readable as TOML"),
    "nul": ("[training]\nepochs=0\0\n", "not readable as TOML"),
    "half-a-pair": ('[model]\nbody="\\uD800"\n', "not readable as TOML"),
    "inline-tables": ("[training]\nepochs=" + "{a=" * 900 + "1" + "}" * 900, "nested too deep"),
    "20000-sections": ("".join(f"a{number}.b.c=1\n" for number in range(20_000)), "unknown section [a0]"),
    "20000-keys": ("[training]\n" + "".join(f"k{number}=1\n" for number in range(20_000)), "unknown key training.k0"),
    "deep-and-wide": ("".join("a" + ".b" * 200 + f".c{number}=1\n" for number in range(300)), "unknown section [a]"),
    "seed-of-18-digits": ("[training]\nseed=0xFFFFFFFFFFFFFFFFFF\n", "training.seed = 4722366482869645213695"),
    "description-a-list": ("description=['a']\n", "description = ['a']"),
    "section-by-dots-too": ("training.epochs=0\n[training]\nseed=1\n", "not readable as TOML"),
}  # fmt: skip
NO_RULES: dict[str, Callable[[Path], object]] = {
    "a-folder": Path.mkdir,
    "missing": Path.exists,
    "endless": lambda path: path.symlink_to("/dev/zero"),
    "a-link-to-itself": lambda path: path.symlink_to(path.name),
    "of-1-TB": sparse(1 << 40),
}
BROKE = {
    "rules": {"a-line-break-of-unicode", "a-form-feed", "weight-of-5000-digits"},
    "typed": {"5000-digits"},
    "settings": {'model.rules="a\\u0000b"'},
}
"""What ended in a traceback, in a wait or in a sentence that nobody can read when it was first tried."""

FLAGS: dict[str, str] = {
    "generate LM a --temperature 1e308": "--temperature 1e+308",
    f"generate LM a --temperature {'9' * 40}": "--temperature 1e+40",
    "generate LM a --repetition-penalty 1e308": "--repetition-penalty 1e+308",
    f"generate LM a --samples {'9' * 40}": "at least 1, and at most 10,000",
    f"generate LM a --samples {'9' * 4_000}": "at least 1, and at most 10,000",
    "compare-variants TABLE --vary model.n_heads=1,2 --seconds 1e308 --out OUT": "training.max_seconds = 1e+308",
    "train TABLE --set training.max_seconds=1e308 --out OUT": "training.max_seconds = 1e+308",
}


def cases(table: Mapping[str, object], broke: str = "") -> list[Any]:
    found = BROKE.get(broke, set())
    return [pytest.param(name, id=ascii(name), marks=[pytest.mark.mended] if name in found else []) for name in table]


def train(table: Path, out: Path, *more: object) -> Outcome:
    return glassformer("train", table, "--out", out, "--epochs", "0", "--device", "cpu", *more)


@pytest.mark.parametrize("name", cases(RULES, "rules"))
def test_rules_that_cannot_be(name: str, reviews: Trained, tmp_path: Path) -> None:
    content, words = RULES[name]
    file = tmp_path / "rules.txt"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with nothing_lost(tmp_path):
        answered(train(reviews.table, tmp_path / "m", "--rules", file), str(file), *words)


@pytest.mark.mended
@pytest.mark.parametrize("limit", ["parsing", "matching"])
def test_patterns_that_take_long(limit: str, reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"glassformer.readers.rules.{limit}._MOST_SECONDS", -1 if limit == "matching" else 1)
    heavy = r"/\w{150}z%d/ -> very good" if limit == "parsing" else "/[a-z ].{1,2000}%d!/ -> very good"
    (tmp_path / "rules.txt").write_text("\n".join(heavy % number for number in range(40)), encoding="utf-8")
    words = {"parsing": "more than 1 seconds to compile", "matching": "take too long to find"}[limit]
    answered(train(reviews.table, tmp_path / "m", "--rules", tmp_path / "rules.txt"), words)


@pytest.mark.mended
def test_patterns_are_compiled_once_for_all_texts() -> None:
    heavy = "\n".join(rf"/\w{{150}}z{number}/ -> very good" for number in range(20))
    matcher = Matcher.of(parse_rules(heavy, LabelSaying(labels=("very good",), several=False), "rules.txt"))
    began = time.perf_counter()
    for _ in range(200):
        assert matcher.matches(["a short text"]) == [[]]
    assert time.perf_counter() - began < 10  # compiled for each batch: above 200 seconds


@pytest.mark.parametrize("name", cases(NO_RULES))
def test_a_file_of_rules_that_is_none(name: str, reviews: Trained, tmp_path: Path) -> None:
    NO_RULES[name](tmp_path / "rules.txt")
    answered(train(reviews.table, tmp_path / "m", "--rules", tmp_path / "rules.txt"), str(tmp_path / "rules.txt"))
    assert not (tmp_path / "m").exists()


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("numbers") / "numbers.csv", rows("number", "one text"))


@pytest.mark.parametrize("name", cases(NUMBERS))
def test_rules_for_a_number_that_cannot_be(name: str, numbers: Path, tmp_path: Path) -> None:
    said, words = NUMBERS[name]
    (tmp_path / "rules.txt").write_text(f'"a" -> {said}\n', encoding="utf-8")
    flags = (*TARGETS["number"], "--rules", tmp_path / "rules.txt")
    with nothing_lost(tmp_path):
        answered(train(numbers, tmp_path / "m", *flags), "line 1", words)


@pytest.mark.parametrize("name", cases(COSTS))
def test_costs_in_a_table_that_cannot_be(name: str, reviews: Trained, tmp_path: Path) -> None:
    content, words = COSTS[name]
    file = tmp_path / "costs.csv"
    file.write_text(content, encoding="utf-8")
    with nothing_lost(reviews.folder):
        answered(glassformer("costs", reviews.folder, file), str(file), *words)


@pytest.mark.parametrize("name", cases(TYPED, "typed"))
def test_costs_that_cannot_be(name: str, reviews: Trained) -> None:
    typed, words = TYPED[name]
    with nothing_lost(reviews.folder):
        answered(glassformer("costs", reviews.folder, typed), words)


def test_a_cost_of_less_than_nothing_is_nothing(reviews: Trained, tmp_path: Path) -> None:
    model = shutil.copytree(reviews.folder, tmp_path / "model")
    outcome = glassformer("costs", model, "very good=-0", "--json")
    assert outcome.code == 0, outcome.err
    assert "-0" not in json.dumps(outcome.document["costs"])


@pytest.mark.parametrize("name", cases(SETTINGS, "settings"))
def test_a_setting_that_cannot_be(name: str, reviews: Trained, tmp_path: Path) -> None:
    answered(train(reviews.table, tmp_path / "m", "--set", name), SETTINGS[name])
    assert not (tmp_path / "m").exists()


@pytest.mark.mended
@pytest.mark.parametrize("flags", FLAGS, ids=lambda flags: flags[:40])
def test_a_number_that_cannot_be(flags: str, reviews: Trained, tmp_path: Path) -> None:
    save_model(tmp_path / "lm", trained_language_model(), card="")
    named = {"LM": tmp_path / "lm", "TABLE": reviews.table, "OUT": tmp_path / "m"}
    answered(glassformer(*(named.get(word, word) for word in flags.split())), FLAGS[flags])
    assert not (tmp_path / "m").exists()


NAMES: dict[tuple[str, str], str] = {
    ("--columns", "a\nb"): "'a\\nb': give names with commas in between, on one line",
    ("--order", "a\nb"): "'a\\nb': give names with commas in between, on one line",
    ("--multilabel", ""): "--multilabel is empty",
}


@pytest.mark.mended
@pytest.mark.parametrize("flag", NAMES, ids=lambda flag: ascii(" ".join(flag)[:20]))
def test_names_that_cannot_be(flag: tuple[str, str], reviews: Trained, tmp_path: Path) -> None:
    answered(train(reviews.table, tmp_path / "m", *flag), NAMES[flag])
    assert not (tmp_path / "m").exists()


@pytest.mark.mended
@pytest.mark.parametrize("flag", ["--rules=", "--set=model.rules="])
def test_rules_in_a_pipe_keep_nobody_waiting(flag: str, reviews: Trained, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rules.txt")
    answered(train(reviews.table, tmp_path / "m", f"{flag}{tmp_path / 'rules.txt'}"), "it is a pipe")


@pytest.mark.mended
def test_words_are_looked_up_as_deep_as_there_are_words(reviews: Trained, tmp_path: Path) -> None:
    asked = ("zorp", "--definition", "a good film", "--out", tmp_path / "m")
    assert glassformer("learn-word", reviews.folder, *asked, "--depth", "9" * 40).code == 0


@pytest.mark.parametrize("name", cases(RECIPES))
def test_a_recipe_that_cannot_be(name: str, reviews: Trained, tmp_path: Path) -> None:
    content, words = RECIPES[name]
    file = tmp_path / "mine.toml"
    file.write_text(content, encoding="utf-8", newline="")
    with nothing_lost(file):
        answered(glassformer("train", reviews.table, "--out", tmp_path / "m", "--recipe", file), str(file), words)
    assert not (tmp_path / "m").exists()
