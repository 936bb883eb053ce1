"""Flags that are short for a setting, `--quiet`, hints, `version`, completion of the shell."""

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from glassformer import __version__
from glassformer.prediction.model_folder import save_model
from tests.cli.terminal import glassformer, misused
from tests.prediction.language import trained_language_model
from tests.running import COMMAND
from tests.trained import Trained

TINY = ("--preset", "tiny", "--set", "training.min_steps_per_epoch=2")
SHORT = ("--epochs", 2, "--learning-rate", "0.003", "--seed", 5)


def settings(folder: Path) -> tuple[int, float, int]:
    """What a finished run was trained with."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    training = config["recipe"]["training"]
    return training["epochs"], training["learning_rate"], training["seed"]


def test_train_quietly_with_plain_flags(reviews: Trained, tmp_path: Path) -> None:
    said = glassformer("train", reviews.table, "--out", tmp_path / "m", *TINY, *SHORT, "--quiet")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"{tmp_path / 'm'}: cross-validated accuracy")
    assert said.out.count("\n") == 1
    assert settings(tmp_path / "m") == (2, 0.003, 5)


def test_pretrain_quietly_with_plain_flags(tmp_path: Path) -> None:
    (tmp_path / "book.txt").write_text("".join(f"the cat sat on mat {number}\n\n" for number in range(60)))
    more = ("--set", "tokenizer.kind=character")
    said = glassformer("pretrain", tmp_path / "book.txt", "--out", tmp_path / "m", *TINY, *SHORT, *more, "-q")
    assert (said.code, said.err, said.out.count("\n")) == (0, "", 1), said.err
    assert settings(tmp_path / "m") == (2, 0.003, 5)


def test_align_quietly_with_plain_flags(tmp_path: Path) -> None:
    save_model(tmp_path / "base", trained_language_model(), card="")
    pairs = [json.dumps({"prompt": "the cat", "completion": f" sat on mat {number}"}) for number in range(12)]
    (tmp_path / "pairs.jsonl").write_text("\n".join(pairs))
    said = glassformer(
        "align", "sft", tmp_path / "base", tmp_path / "pairs.jsonl", "--out", tmp_path / "m", *SHORT, "-q"
    )
    assert (said.code, said.err, said.out.count("\n")) == (0, "", 2), said.err  # the figures, and how answers changed
    assert settings(tmp_path / "m") == (2, 0.003, 5)


def test_every_long_command_can_be_quiet(reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(reviews.table.parent)
    shutil.copytree(reviews.folder, tmp_path / "copy")
    save_model(tmp_path / "lm", trained_language_model(), card="")
    commands: dict[str, tuple[object, ...]] = {
        "evaluate": (reviews.folder, reviews.table, "--out", tmp_path / "evaluation"),
        "compare": (reviews.folder, tmp_path / "copy", reviews.table),
        "doctor": (reviews.table, "--preset", "tiny"),
        "learn-word": (reviews.folder, "gruff", "--definition", "a bad xyzzy", "--out", tmp_path / "words"),
        "generate": (tmp_path / "lm", "the cat xyzzy", "--max-tokens", 3),
        "compare-variants": (
            reviews.table, "--vary", "pooling=mean,max", "--seeds", 2, "--steps", 2, *TINY, "--out", tmp_path / "v",
        ),
    }  # fmt: skip
    for command, arguments in commands.items():
        said = glassformer(command, *arguments, "--quiet")
        assert (said.code, said.err) == (0, ""), command
        assert said.out, command


@pytest.mark.parametrize("other", ["training.max_steps=3", "training.max_seconds=5"])
def test_epochs_and_another_budget_are_refused(other: str, reviews: Trained, tmp_path: Path) -> None:
    command = ("train", reviews.table, "--out", tmp_path / "m", "--set", other)
    both = f"--set {other} both say how long to train; leave one out"
    misused(glassformer(*command, "--epochs", 2), f"--epochs 2 and {both}")
    misused(glassformer(*command, "--set", "training.epochs=2"), f"--set training.epochs=2 and {both}")


def test_a_setting_is_not_blamed_on_a_recipe_that_nobody_named(reviews: Trained, tmp_path: Path) -> None:
    said = glassformer("train", reviews.table, "--out", tmp_path / "m", "--epochs", -1)
    misused(said, "error: training.epochs = -1: ")


def test_quiet_is_not_quiet_about_errors(tmp_path: Path) -> None:
    misused(glassformer("train", tmp_path / "nosuch.csv", "--out", tmp_path / "m", "-q"), "nosuch.csv")


@pytest.mark.parametrize(
    ("flag", "setting"),
    [
        (("--epochs", 3), "training.epochs=3"),
        (("--learning-rate", 0.1), "training.learning_rate=0.2"),
        (("--seed", 3), "training.seed=4"),
        (("--validation", __file__), "validation.file=b.csv"),
        (("--group", "a"), "validation.group=b"),
    ],
)
def test_a_setting_given_twice_is_refused(
    flag: tuple[object, ...], setting: str, reviews: Trained, tmp_path: Path
) -> None:
    said = glassformer("train", reviews.table, "--out", tmp_path / "m", *flag, "--set", setting)
    misused(said, str(flag[0]), setting.partition("=")[0], "leave one out")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("train", "polarity", "--out", "m", "--set", "training.lr=1"), "training.learning_rate"),
        (("train", "polarity", "--out", "m", "--set", "lr=1"), "training.learning_rate"),
        (("train", "polarity", "--out", "m", "--set", "model.hidden_size=64"), "model.d_model"),
        (("train", "polarity", "--out", "m", "--set", "training.dropout=0.1"), "model.dropout"),
        (("pretrain", __file__, "--out", "m", "--set", "training.bs=4"), "training.batch_size"),
        (("align", "sft", ".", __file__, "--out", "n", "--set", "training.lr=1"), "training.learning_rate"),
        (("train", "t.csv", "--out", "m", "--epoch", "3"), "--epochs"),
        (("train", "t.csv", "--out", "m", "--lr", "3"), "--learning-rate"),
        (("train", "t.csv", "--out", "m", "--batch-size", "8"), "--set section.key=value"),
        (("train", "t.csv", "--out", "m", "--learning-rate", "1,5"), "'1,5': it must be a number, such as 3 or 1.5"),
        (("trian", "t.csv"), "'train'"),
        (("compare-designs", "t.csv"), "'compare-variants'"),
    ],
)
def test_what_was_meant_is_suggested(arguments: tuple[str, ...], meant: str) -> None:
    said = glassformer(*arguments)
    assert said.code == 2
    assert meant in said.err


@pytest.mark.parametrize("flags", [(), ("--devices",)])
def test_version_says_what_a_bug_report_needs(flags: tuple[str, ...]) -> None:
    found = glassformer("version", *flags, "--json").document
    assert (found["glassformer"], found["python"]) == (__version__, platform.python_version())
    assert found["libraries"]["torch"]
    if flags:
        assert found["devices"][0] == "cpu"
        assert found["threads"] >= 1
    lines = glassformer("version", *flags).out.splitlines()
    assert [line.split()[0] for line in lines] == list(found)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands(shell: str) -> None:
    asked = {
        "_GLASSFORMER_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": "glassformer compare-v",
        "COMP_CWORD": "1",
        "_TYPER_COMPLETE_ARGS": "glassformer compare-v",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    done = subprocess.run(COMMAND, env=os.environ | asked, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert "compare-variants" in done.stdout
    assert "train" not in done.stdout.replace("Train every", "")
