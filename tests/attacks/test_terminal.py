"""Control characters in the output, closed streams, and pipes that nobody reads."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from glassformer.cli.output import LONGEST_ERROR, print_json, print_table, say, show, write_json
from glassformer.prediction.model_folder import save_model
from tests.attacks.answer import answered, harmless, nothing_lost
from tests.cli.terminal import QUICK, Outcome, glassformer
from tests.matrix.samples import ALONE
from tests.prediction.language import trained_language_model
from tests.running import COMMAND, Running
from tests.trained import Trained, write_csv

EVIL = "\x1b]owned\x07\x1b[2J\x9b31m\u202etxet\u2066"
LABELS = (f"good{EVIL}", f"bad{EVIL}")
NAMES = {
    "escape": "a\x1b[31m.csv",
    "c1": "a\x9b31m.csv",
    "bidi": "a\u202evsc.csv",
    "newline": "a\nerror: all is lost.csv",
    "bell": "a\a\b\x7f.csv",
    "very-long": "a" * 240 + ".csv",
    "brackets": "a[red]b[bold].csv",
}


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """File, columns, labels and texts try to steer the terminal."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = [(f"a film {number} {EVIL} {('fine', 'dull')[number % 2]}", LABELS[number % 2]) for number in range(60)]
    table = write_csv(folder / NAMES["escape"], rows, header=(f"text{EVIL}", f"label{EVIL}"))
    columns = ("--text", f"text{EVIL}", "--label", f"label{EVIL}")
    outcome = glassformer("train", table, "--out", folder / f"model{EVIL}", *columns, *QUICK)
    return Trained(folder=folder / f"model{EVIL}", table=table, outcome=outcome)


def unsteered(outcome: Outcome, code: int = 0) -> None:
    assert outcome.code == code, outcome.err
    harmless(outcome)


def test_training_is_harmless(hostile: Trained) -> None:
    unsteered(hostile.outcome)
    assert "good\ufffd]owned" in hostile.outcome.err or "good\\x1b]owned" in hostile.outcome.err


@pytest.mark.parametrize("json", [(), ("--json",)], ids=["plain", "json"])
@pytest.mark.parametrize("command", ["evaluate", "compare", "predict", "predict-pipe", "predict-file"])
def test_a_hostile_model_and_table_are_harmless(
    command: str, json: tuple[str, ...], hostile: Trained, tmp_path: Path
) -> None:
    model, table = hostile.folder, hostile.table
    other = shutil.copytree(model, tmp_path / f"other{EVIL}") if command == "compare" else model
    arguments: dict[str, tuple[object, ...]] = {
        "evaluate": ("evaluate", model, table, "--out", tmp_path / EVIL),
        "compare": ("compare", model, other, table, "--text", f"text{EVIL}", "--label", f"label{EVIL}"),
        "predict": ("predict", model, f"a fine film {EVIL}"),
        "predict-pipe": ("predict", model),
        "predict-file": ("predict", model, "--file", table, "--out", tmp_path / "out.csv"),
    }
    outcome = glassformer(*arguments[command], *json, stdin=f"{EVIL} fine\n".encode())
    unsteered(outcome)
    if json and command == "predict":
        answer = outcome.document["answers"][0]
        assert (answer["text"], answer["prediction"] in LABELS) == (f"a fine film {EVIL}", True)  # exact all the same


def test_what_a_language_model_is_asked_and_writes_is_harmless(tmp_path: Path) -> None:
    save_model(tmp_path / EVIL, trained_language_model(), card="")
    for more in ((), ("--samples", 2), ("--json",)):
        unsteered(glassformer("generate", tmp_path / EVIL, EVIL, "--max-tokens", 5, *more))


def test_the_doctor_is_harmless(hostile: Trained) -> None:
    missing = glassformer("doctor", hostile.table, "--text", f"text{EVIL}", "--label", EVIL)
    unsteered(missing, code=2)


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("command", ["train", "doctor", "evaluate", "predict", "generate", "out", "recipe"])
def test_a_name_in_an_error_is_harmless(command: str, name: str, reviews: Trained, tmp_path: Path) -> None:
    named = tmp_path / name
    arguments: dict[str, tuple[object, ...]] = {
        "train": ("train", named, "--out", tmp_path / "m"),
        "doctor": ("doctor", named),
        "evaluate": ("evaluate", reviews.folder, named),
        "predict": ("predict", named, "a text"),
        "generate": ("generate", named, "a text"),
        "out": ("evaluate", reviews.folder, reviews.table, "--out", named),
        "recipe": ("train", reviews.table, "--out", tmp_path / "m", "--recipe", named),
    }
    if command == "out":
        named.touch()  # a file where a folder is to be
    with nothing_lost(tmp_path):
        outcome = glassformer(*arguments[command])
    answered(outcome)
    assert [line for line in outcome.err.splitlines() if line.startswith("error: ")] == outcome.err.splitlines()[-1:]


@pytest.mark.parametrize(
    "arguments",
    [(EVIL,), ("train", "polarity", f"--{EVIL}"), ("train", "polarity", "--out", "m", "--seed", EVIL), ("data", EVIL)],
    ids=["command", "flag", "value", "below"],
)
def test_what_the_parser_echoes_is_harmless(arguments: tuple[str, ...]) -> None:
    outcome = glassformer(*arguments)
    unsteered(outcome, code=2)
    assert "Error: " in outcome.err


@pytest.mark.parametrize("command", ["train", "predict", "generate", "evaluate", "nonsense"])
def test_an_argument_that_is_no_utf8_is_named(command: str) -> None:
    answered(glassformer(command, b"caf\xe9.csv".decode(errors="surrogateescape")), "argument 2", "caf", "UTF-8")


def test_a_long_error_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    columns = tuple(f"column_{number}" for number in range(5_000))
    table = write_csv(tmp_path / "wide.csv", [tuple("x" for _ in columns)], header=columns)
    outcome = glassformer("train", table, "--out", tmp_path / "m", "--text", "nosuch")
    answered(outcome, "nosuch")
    assert len(outcome.err) <= LONGEST_ERROR + 10


def test_every_way_of_writing_is_harmless_and_json_stays_exact(capsys: pytest.CaptureFixture[str]) -> None:
    show(EVIL)
    say(EVIL)
    print_table([(EVIL, "b"), ("a", EVIL)])
    plain = capsys.readouterr()
    harmless(Outcome(code=0, out=plain.out, err=plain.err))
    assert "\u202e" not in plain.out + plain.err
    print_json({EVIL: [EVIL, "\udcff", "电影 🎬"]})
    written = capsys.readouterr().out
    harmless(Outcome(code=0, out=written, err=""))
    assert "\u202e" not in written
    assert "电影 🎬" in written
    assert json.loads(written) == {EVIL: [EVIL, "\udcff", "电影 🎬"]}
    write_json(json.dumps(EVIL, ensure_ascii=False))
    assert json.loads(capsys.readouterr().out) == EVIL


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which `$G` is the command."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        capture_output=True,
        text=True,
        env=os.environ | {"G": " ".join(COMMAND)},
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "closed"),
    [("data list --json", 0, "<&-"), ("data list --json", 0, ">&-"), ("data list --json", 0, "2>&-"),
     ("--help", 0, ">&-"), ("--help", 0, "<&- >&- 2>&-"), ("predict", 2, "2>&-"), ("predict", 2, "<&- >&- 2>&-")],
)  # fmt: skip
def test_a_stream_that_is_closed_is_no_traceback(arguments: str, code: int, closed: str) -> None:
    done = shell(f"$G {arguments} {closed}")
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


UNHEARD = """
import os, sys
read, write = os.pipe()
os.dup2(write, 2)
for number in (0, 1, read, write):
    os.close(number)
sys.stdin = sys.stdout = None  # as Python starts where they are closed
from glassformer.__main__ import main
main()
"""


def test_a_run_goes_on_without_anybody_listening(reviews: Trained, tmp_path: Path) -> None:
    """Nothing reads standard error, standard output is closed: the model is trained all the same."""
    out = tmp_path / "model"
    run = Running("-c", UNHEARD, "train", reviews.table, "--out", out, *QUICK, *ALONE, log=tmp_path / "log")
    assert run.end() == 0
    assert (out / "config.json").is_file()


@pytest.mark.parametrize("arguments", ["--help", "--version", "data list"])
def test_a_reader_that_has_seen_enough(arguments: str) -> None:
    done = shell(f"$G {arguments} | true")
    assert done.returncode in (0, 141)  # 0 where the reader went only after the last line
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", ["--help", "--version", "data list --json"])
def test_a_full_disk_is_one_sentence(arguments: str) -> None:
    done = shell(f"$G {arguments} > /dev/full")
    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")


@pytest.mark.mended
@pytest.mark.parametrize("unheard", ["2> >(true)", "2>/dev/full", ">/dev/full 2>&1"])
@pytest.mark.parametrize(("arguments", "code"), [("course 1 --out OUT", 0), ("predict", 2)])
def test_messages_that_nobody_hears_change_no_exit_code(
    arguments: str, code: int, unheard: str, tmp_path: Path
) -> None:
    words = arguments.replace("OUT", str(tmp_path / "lesson.py"))
    done = shell(f"unset PYTHONUNBUFFERED; $G {words} {unheard}")
    lost = code == 0 and unheard.startswith(">")
    assert (done.returncode, done.stderr) == (1 if lost else code, "")
    assert (tmp_path / "lesson.py").exists() == (code == 0)
