import ast
import errno
import math
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from safetensors import SafetensorError

from glassformer import __version__
from glassformer.cli.output import print_json
from glassformer.errors import GlassformerError
from tests.cli.terminal import commands, failed, glassformer
from tests.running import COMMAND, Running, signals_of_a_shell
from tests.trained import Trained, write_csv
from tests.workbooks import write_workbook


def without_waiting(said: str) -> str:
    """What a command said, without the lines about what it is doing, which a slow machine shows."""
    return re.sub(r"^(loading|answering).* \(.* since the start\)\n", "", said, flags=re.MULTILINE)


def test_every_command_is_there() -> None:
    assert {name for name, _ in commands()} == {
        "desk",
        "doctor",
        "train",
        "evaluate",
        "explain",
        "serve",
        "trace",
        "compare",
        "compare-variants",
        "costs",
        "reproduce",
        "search",
        "predict",
        "export",
        "pretrain",
        "embeddings",
        "distil",
        "labels",
        "audit",
        "generate",
        "learn-word",
        "course",
        "recipes",
        "verify",
        "version",
        "align pairs",
        "align sft",
        "align dpo",
        "align evaluate",
        "align reward",
        "align rl",
        "data list",
        "data get",
    }


@pytest.mark.parametrize(("name", "command"), list(commands()))
def test_every_command_and_every_option_says_what_it_does(name: str, command: Any) -> None:
    assert command.help
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"{name} {parameter.name}"
    assert "--json" in {option for parameter in command.params for option in parameter.opts}


LOADED = """
import sys
import glassformer
def loaded(): return [m for m in ("torch", "polars", "sklearn", "pydantic", "numpy", "tokenizers") if m in sys.modules]
found = [loaded()]
from glassformer.cli.main import main
for argument in ("--help", "--version", "version", "recipes"):
    sys.argv = ["glassformer", argument]
    try: main()
    except SystemExit: pass
    found.append(loaded())
print(found)
"""


def test_help_and_import_leave_the_heavy_libraries_alone() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True)
    of_import, of_help, of_version, *of_commands = ast.literal_eval(done.stdout.splitlines()[-1])
    assert of_import == of_help == of_version == [], done.stdout + done.stderr
    assert all(each in ([], ["pydantic"]) for each in of_commands)  # typer loads it for any command with parameters


@pytest.mark.parametrize("group", [[], ["align"], ["data"]])
def test_the_list_of_commands_has_whole_sentences(group: list[str]) -> None:
    done = glassformer(*group, "--help")
    listed = done.out.partition("Commands:")[2]
    assert listed.strip().endswith("."), done.out
    assert "..." not in listed, listed


def test_a_second_table_is_refused_with_how_several_are_read(tmp_path: Path) -> None:
    tables = [write_csv(tmp_path / name, [("good film", "good")]) for name in ("one.csv", "two.csv")]
    refused = glassformer("train", *tables, "--out", tmp_path / "model")
    assert refused.code == 2
    assert "two.csv); to read several tables as one, put them into a folder and name that" in refused.err
    alone = glassformer("train", tables[0], "two", "--out", tmp_path / "model")
    assert "folder" not in alone.err


MISSING = """
import sys
from glassformer.cli.main import main
for command in {commands!r}:
    sys.argv = ["glassformer", *command]
    try: main()
    except SystemExit as ended: assert ended.code == 2, command
    heavy = {{"torch", "sklearn", "scipy", "fastapi"}} & sys.modules.keys()
    assert not heavy, (command, heavy)
"""


def test_a_slip_in_a_path_is_answered_before_the_heavy_libraries_load(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [("good film", "good")])
    write_workbook(tmp_path / "two.xlsx", {"One": [["text"], ["good film"]], "Two": [["text"], ["dull film"]]})
    commands = [list(map(str, command)) for command in (
        ("desk", "two.xlsx", "--no-open"), ("explain", "sentiment-en", "text", "--method", "magic"),
        ("train", table, "--label", "none", "--out", "o"), ("doctor", table, "--label", "none"),
        ("search", table, "--label", "none", "--minutes", "1"), ("labels", table, "--label", "none"),
        ("compare-variants", table, "--label", "none", "--vary", "seed=0,1", "--out", "o"),
        ("evaluate", "sentiment-en", "no.csv"), ("evaluate", "none", table), ("compare", "sentiment-en", "none", table),
        ("export", "none", "--format", "onnx", "--out", "o"), ("labels", "no.csv"),
        ("labels", table, "--apply", "no.csv"), ("labels", table, "--next", "5", "no.csv"),
        ("doctor", "no.csv"), ("serve", "sentiment-en", "none"),
        ("predict", "none", "text"), ("explain", "none", "text"), ("explain", "sentiment-en", "--file", "no.csv"),
        ("trace", "none", "text"), ("audit", "none"), ("train", "no.csv", "--out", "o"),
        ("train", table, "--out", "o", "--test", "no.csv"), ("train", table, "--out", "o", "--validation", "no.csv"),
        ("train", table, "--out", "o", "--unlabelled", "no.csv"), ("pretrain", "no.txt", "--out", "o"),
        ("train", table, "--out", "o", "--init", "none"), ("train", table, "--out", "o", "--recipe", "no.toml"),
        ("train", table, "--out", "o", "--recipe", table), ("train", table, "--out", "o", "--rules", "no.txt"),
        ("pretrain", table, "--out", "o", "--recipe", "no.toml"), ("generate", "none", "text"),
        ("generate", "sentiment-en", "--file", "no.txt"), ("learn-word", "none", "word"),
        ("learn-word", "sentiment-en", "--file", "no.csv"),
        ("align", "pairs", "no.csv", "--chosen", "good", "--out", "o"), ("align", "sft", "none", table, "--out", "o"),
        ("align", "reward", "sentiment-en", "no.jsonl", "--out", "o"),
        ("align", "dpo", "sentiment-en", "no.jsonl", "--out", "o"),
        ("align", "rl", "none", "--reward", "none", "--out", "o"), ("align", "evaluate", "sentiment-en", "none"),
        ("align", "evaluate", "sentiment-en", "--prompts", "no.txt"),
        ("train", table, "--out", "o", "--init", "."),
        ("distil", "sentiment-en", table, "--into", "tiny", "--out", "."),
        ("distil", "sentiment-en", table, "--into", ".", "--out", "o"), ("train", table, "--out", "."),
        ("distil", "sentiment-en", "--into", "tiny", "--out", "o", "--labelled", "no.csv"),
        ("align", "rl", "sentiment-en", "--reward", "none", "--out", "o"), ("pretrain", table, "--out", "."),
        ("align", "evaluate", "sentiment-en", "--reward", "none"), ("costs", "sentiment-en", "no.csv"),
        ("train", table, "--out", "o", "--costs", "no.csv"), ("train", table, "--out", "o", "--rules", table),
        ("train", table, "--out", "o", "--resume"), ("align", "sft", "sentiment-en", table, "--out", "."),
        ("align", "rl", "sentiment-en", "--reward", "sentiment-en:positive", "--out", "o", "--resume"),
    )]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", MISSING.format(commands=commands)], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(said) == len(commands)
    slips = (
        "No such file: no.", "none: no such model folder", "no.toml: neither a file", "not readable as TOML: ",
        "--rules no.txt: No such file", " is not a rule; ", ". is not a model folder: it holds no config.json",
        ". is a folder with other files in it", "there is no none; ", "holds no unfinished run", "neither a preset nor",
        "two.xlsx has 2 sheets", "t.csv has no column 'none'", "--method magic: no such method",
    )  # fmt: skip
    assert [line for line in said if not any(slip in line for slip in slips)] == []


def test_every_command_that_reads_tables_or_texts_has_an_encoding() -> None:
    without = {name for name, command in commands() if "encoding" not in {each.name for each in command.params}}
    assert without == {
        *("costs", "course", "data get", "data list", "export", "recipes", "reproduce", "serve", "trace", "verify"),
        "version",
    }


def test_version() -> None:
    assert glassformer("--version").out == f"glassformer {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("data",),
        ("unheard-of",),
        ("train",),
        ("train", "polarity"),
        ("predict", "m", "--nope"),
        ("evaluate",),
    ],
)
def test_what_is_no_command_is_misuse(arguments: tuple[str, ...]) -> None:
    outcome = glassformer(*arguments)
    assert outcome.code == 2
    assert outcome.out == ""
    assert "Usage: glassformer" in outcome.err


def test_a_value_of_the_wrong_type_is_misuse() -> None:
    outcome = glassformer("train", "polarity", "--out", "x", "--seed", "many")
    assert outcome.code == 2
    assert "--seed" in outcome.err


def test_ctrl_c_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("glassformer.data.sources.read_sources", stop)
    outcome = glassformer("train", "polarity", "--out", tmp_path / "model")
    assert (outcome.code, outcome.out, outcome.err) == (130, "", "stopped\n")


@pytest.mark.parametrize("module", ["typer", "torch"])
def test_ctrl_c_while_the_libraries_load_is_a_failure_too(module: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(f"""
import signal, sys
class CtrlC:
    def find_spec(self, name, *_):
        if name == {module!r}:
            eval("signal.raise_signal(signal.SIGINT)")  # through eval, as in dataclasses and named tuples
sys.meta_path.insert(0, CtrlC())
""")
    done = subprocess.run(
        [*COMMAND, "train", "polarity", "--out", tmp_path / "m"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        preexec_fn=signals_of_a_shell,
    )
    assert (done.returncode, done.stdout, without_waiting(done.stderr)) == (130, "", "stopped\n")


def test_a_handler_of_ctrl_c_is_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    assert glassformer("data", "list").code == 0
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_that_comes_back_as_another_error_is_one_too(tmp_path: Path) -> None:
    """As from the middle of numpy's import; without Ctrl-C the same error is a mistake of ours, with its traceback."""
    code = f"""
import signal, sys
def read(*_, **__):
    try: ANY
    except KeyboardInterrupt: pass
    raise error
import glassformer.training.recipe as recipe
recipe.load_recipe = read
from glassformer.__main__ import main
sys.argv = ["glassformer", "train", "polarity", "--out", {str(tmp_path / "m")!r}]
for error in (RecursionError(), ImportError("half")):
    try: main()
    except (SystemExit, type(error)) as ended: print(getattr(ended, "code", "a mistake of ours"), file=sys.stderr)
error = OSError("half")
main()
"""
    stop, go_on = (code.replace("ANY", anything) for anything in ("signal.raise_signal(signal.SIGINT)", "pass"))
    stopped, plain = Running("-c", stop, log=tmp_path / "stopped"), Running("-c", go_on, log=tmp_path / "plain")
    outcome = stopped.outcome()
    assert (outcome.code, outcome.out) == (130, "")
    assert without_waiting(outcome.err) == "stopped\n130\nstopped\n130\nstopped\n"
    assert (plain.end(), plain.said.count("a mistake of ours")) == (1, 2)
    assert "stopped" not in plain.said
    assert not (tmp_path / "m").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_a_failure() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*COMMAND, "data", "list"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")


@pytest.fixture(scope="module")
def light(reviews: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that is read without torch."""
    folder = tmp_path_factory.mktemp("light") / "model"
    assert glassformer("export", reviews.folder, "--format", "onnx", "--out", folder).code == 0
    return folder


def test_standard_output_is_utf8_in_any_locale(light: Path) -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [*COMMAND, "predict", str(light), "--json"],
        input="电影".encode(),
        capture_output=True,
        env=environment,
    )
    assert "电影" in done.stdout.decode("utf-8")


def test_head_ends_a_command_quietly(light: Path, tmp_path: Path) -> None:
    texts = tmp_path / "many.txt"
    texts.write_text("a good film\n" * 20_000)
    line = '"$@" | head -n 1; echo "${PIPESTATUS[0]}"'
    with texts.open("rb") as lines:
        done = subprocess.run(
            ["bash", "-c", line, "bash", *COMMAND, "predict", light], stdin=lines, capture_output=True, text=True
        )
    first, code = done.stdout.splitlines()
    assert "a good film" in first
    assert code == "141"
    assert without_waiting(done.stderr) == ""


@pytest.mark.parametrize("figure", [math.nan, math.inf])
def test_json_never_holds_what_is_no_number(figure: float) -> None:
    with pytest.raises(GlassformerError, match="NaN or infinite"):
        print_json({"loss": [figure]})


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        pl.exceptions.ComputeError("Cannot allocate memory (os error 12)"),
        pl.exceptions.PanicException("failed to allocate 8 bytes"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_lack_of_memory_is_said(error: BaseException, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("glassformer.data.rows._check_lengths", fail)
    table = tmp_path / "a.csv"
    table.write_text("text,label\na,b\n")
    said = glassformer("train", table, "--out", tmp_path / "m")
    assert (said.code, said.out) == (1, "")
    assert said.err.endswith(
        "error: out of memory; close other programs, or use a smaller model, shorter texts or fewer texts\n"
    )


def test_a_disk_that_fails_is_said_whichever_library_meets_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object) -> None:
        raise SafetensorError("Error while serializing: I/O error: Input/output error (os error 5)")

    monkeypatch.setattr("glassformer.data.rows._check_lengths", fail)
    (tmp_path / "a.csv").write_text("text,label\na,b\n")
    failed(glassformer("train", tmp_path / "a.csv", "--out", tmp_path / "m"), "error: Input/output error\n")


def test_parts_of_a_table_are_listed_as_a_shell_takes_them(tmp_path: Path) -> None:
    book = write_workbook(tmp_path / "book.xlsx", {"May 1": [["text"], ["good"]], "It's": [["text"], ["bad"]]})
    folder = tmp_path / "my shards"
    folder.mkdir()
    (folder / "a.csv").write_text("text,label\ngood,1\n")
    (folder / "b.csv").write_text("text,class\ngood,1\n")
    for data, listed in ((book, [f"{book}#May 1", f"{book}#It's"]), (folder, [f"{folder}/a.csv", f"{folder}/b.csv"])):
        lines = glassformer("labels", data).err.splitlines()[-2:]
        assert [shlex.split(line)[0] for line in lines] == listed
