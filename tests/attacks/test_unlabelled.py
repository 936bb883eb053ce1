"""Unlabelled texts that cannot be read or are held out, and times that are none."""

import os
import re
from pathlib import Path

import pytest

from tests.attacks.answer import answered, harmless, nothing_lost
from tests.cli.terminal import glassformer
from tests.trained import Trained, review_rows, write_csv

TEXT = "a remark\n\nanother remark, with an é\n\nand a third"
STEP = ("--set", "pretraining.max_steps=1")

NO_TEXTS: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "empty": ("u.txt", b"", ("u.txt holds no text",)),
    "white-space": ("u.txt", b" \n\n\t\n", ("u.txt holds no text",)),
    "bom-alone": ("u.txt", b"\xef\xbb\xbf", ("u.txt holds no text",)),
    "cut-utf-16": ("u.txt", TEXT.encode("utf-16")[:-1], ("UTF-16", "byte 97")),
    "mixed": ("u.txt", TEXT.encode("latin-1") + "\né".encode(), ("u.txt, line 3", "0xe9", "mixes encodings")),
    "binary": ("u.txt", bytes(range(256)), ("u.txt, line 2", "control characters")),
    "empty-table": ("u.csv", b"", ("u.csv is empty",)),
    "header-alone": ("u.csv", b"text\n", ("no rows",)),
    "empty-texts": ("u.csv", b"text\n\n\n" + b'" "\n' * 9, ("no usable row",)),
    "mixed-table": ("u.csv", b"text\nol\xc3\xa9\ncaf\xe9\n", ("line 3", "0xe9", "mixes encodings")),
    "no-parquet": ("u.parquet", b"PAR1 not at all", ("u.parquet",)),
    "unknown-extension": ("u.docx", b"PK\x03\x04", ("the extension does not say",)),
}
NO_TIMES = ("0", "0m", "0.0h", "30", "-5m", "", "soon", "1e9h", "nan m", "inf", "9" * 5_000 + "h", "3\x1b[31mm")


@pytest.mark.parametrize(("name", "content", "words"), NO_TEXTS.values(), ids=NO_TEXTS)
def test_a_file_that_cannot_be_read(
    name: str, content: bytes, words: tuple[str, ...], reviews: Trained, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with nothing_lost(tmp_path, reviews.folder.parent):
        said = glassformer("train", reviews.table, "--out", tmp_path / "m", *STEP, "--unlabelled", tmp_path / name)
        answered(said, *words)


@pytest.mark.parametrize("held_out", ["test", "validation", "training"])
@pytest.mark.parametrize("kind", ["table", "text", "folder"])
def test_texts_that_are_all_held_out_or_known(held_out: str, kind: str, reviews: Trained, tmp_path: Path) -> None:
    rows = review_rows(60)
    other = write_csv(tmp_path / "other.csv", rows)
    texts = [f" {text} " for text, _ in (rows[:50] if held_out != "training" else review_rows(230)[60:100])]
    source = tmp_path / {"table": "u.csv", "text": "u.txt", "folder": "u"}[kind]
    match kind:
        case "table":
            write_csv(source, [(text,) for text in texts], ("text",))
        case "text":
            source.write_text("\n".join(texts))
        case _:
            source.mkdir()
            for number, text in enumerate(texts):
                (source / f"{number}.txt").write_text(text)
    flags: tuple[object, ...] = () if held_out == "training" else (f"--{held_out}", other)
    if held_out == "training":
        flags = ("--set", "validation.fraction=0")
    with nothing_lost(tmp_path):
        said = glassformer("train", reviews.table, "--out", tmp_path / "m", *STEP, *flags, "--unlabelled", source)
        answered(said, f"{source}: no text is left", f"are also {held_out} texts")


def test_no_such_source(reviews: Trained, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "a.csv").write_text("text\na remark\n")
    (tmp_path / "blank").mkdir()
    (tmp_path / "blank" / "a.txt").write_text(" \n")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "a.txt").write_bytes("é\n\né".encode() + b"\xe9")
    os.mkfifo(tmp_path / "pipe.txt")
    cases = {
        tmp_path / "none.txt": "No such file",
        tmp_path / "none.csv": "No such file",
        tmp_path / "none" / "none.csv": "does not exist",
        "nothing": "neither a file nor a known data set",
        tmp_path / "empty": "folder without text files",
        tmp_path / "tables": "folder without text files",
        tmp_path / "blank": "all its text files are empty",
        tmp_path / "broken": "a.txt, line 3",
        tmp_path / "pipe.txt": "pipe",
        "zhou": "has no unlabelled texts",
        "imdb": "glassformer data get imdb",
        "x" * 5_000: "is neither a file nor a known data set",
        "x" * 5_000 + ".txt": "cannot be read",
    }
    for source, words in cases.items():
        answered(glassformer("train", reviews.table, "--out", tmp_path / "m", *STEP, "--unlabelled", source), words)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("duration", NO_TIMES, ids=lambda duration: repr(duration[:9]))
def test_no_time(duration: str, reviews: Trained, tmp_path: Path) -> None:
    with nothing_lost(tmp_path):
        answered(glassformer("train", reviews.table, "--out", tmp_path / "m", f"--pretrain={duration}"), "--pretrain")


@pytest.mark.parametrize("minutes", ["0", "-1", "-0.0", "nan", "inf", "1e300"])
def test_no_minutes(minutes: str, reviews: Trained, tmp_path: Path) -> None:
    with nothing_lost(tmp_path):
        answered(glassformer("train", reviews.table, "--out", tmp_path / "m", f"--minutes={minutes}"), "--minutes")


@pytest.mark.parametrize("minutes", ["abc", "", "10m", "3\x1b[31mm"])
def test_minutes_that_are_no_number(minutes: str, reviews: Trained, tmp_path: Path) -> None:
    with nothing_lost(tmp_path):
        said = glassformer("train", reviews.table, "--out", tmp_path / "m", f"--minutes={minutes}")
    assert (said.code, said.out) == (2, "")
    assert re.search(r"Error: Invalid value for '--minutes': '.*': it must be a number, such as 3 or 1\.5\n", said.err)
    harmless(said)


def test_what_does_not_go_with_minutes(reviews: Trained, tmp_path: Path) -> None:
    out = ("train", reviews.table, "--out", tmp_path / "m", "--minutes", 2)
    answered(glassformer(*out, "--pretrain", "1s"), "--minutes 2", "--pretrain")
    answered(glassformer(*out, "--set", "pretraining.epochs=1"), "--minutes 2", "[pretraining]")
    answered(glassformer(*out, "--set", "training.max_steps=9"), "--minutes 2", "--set training.max_steps=9")
    answered(glassformer(*out, "--set", "training.max_seconds=9"), "--minutes 2", "--set training.max_seconds=9")
    answered(glassformer(*out, "--epochs", 0), "--minutes 2", "--epochs 0")
    (tmp_path / "u.txt").write_text(TEXT)
    read_by_nothing = ("--unlabelled", tmp_path / "u.txt", "--set", "model.body=none")
    answered(glassformer(*out, "--init", reviews.folder, *read_by_nothing), "--unlabelled")
    assert not (tmp_path / "m").exists()


def test_what_does_not_go_together(reviews: Trained, tmp_path: Path) -> None:
    (tmp_path / "u.txt").write_text(TEXT)
    out = ("train", reviews.table, "--out", tmp_path / "m")
    unread = glassformer(*out, "--unlabelled", tmp_path / "u.txt", "--set", "model.body=none")
    answered(unread, "--unlabelled", "--pretrain 30m")
    answered(glassformer(*out, "--pretrain", "1s", "--init", reviews.folder), "--init", "[pretraining]")
    answered(glassformer(*out, "--pretrain", "1s", "--set", "model.design=vinh-mlp"), "our own design")
    answered(glassformer(*out, "--set", "pretraining=30m"), "name the section too")
    recipe = tmp_path / "r.toml"
    recipe.write_text('pretraining = "30m"\n')
    answered(glassformer(*out, "--recipe", recipe), "pretraining must be a section")
    assert not (tmp_path / "m").exists()


@pytest.mark.mended
@pytest.mark.parametrize(("words", "said"), [("xy", "too few for vectors"), ("vwxyz", "give longer texts")])
def test_texts_of_one_word_that_teach_no_vectors(words: str, said: str, tmp_path: Path) -> None:
    rows = [(f"q{words[n % len(words)]}", str(n % 2)) for n in range(24)]
    table = write_csv(tmp_path / "t.csv", rows)
    (tmp_path / "u.txt").write_text("zx\nzy\nzx")
    flags = ("--set", "training.epochs=0", "--unlabelled", tmp_path / "u.txt")
    answered(glassformer("train", table, "--out", tmp_path / "m", *flags), said, "--set model.body=none")
    assert not (tmp_path / "m").exists()
