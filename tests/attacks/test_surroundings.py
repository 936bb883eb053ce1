"""Odd variables, limits and folders; commands that are stopped as they write."""

import json
import os
import pwd
import resource
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from glassformer.data.files import ASIDE
from tests.attacks.answer import answered, harmless, nothing_lost
from tests.attacks.test_processes import files_of_at_most
from tests.cli.conftest import quick as quick
from tests.cli.terminal import Outcome, glassformer
from tests.running import Running
from tests.test_house import ROOT
from tests.trained import Trained

mended = pytest.mark.mended
NAME = "gröẞe🎬"


def python(
    *arguments: str, before: Callable[[], object] | None = None, variables: Mapping[str, str] | None = None
) -> Outcome:
    """Run a command in a Python of its own. A variable that is empty is unset."""
    environment = {"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1", **(variables or {})}
    environment = {name: value for name, value in (os.environ | environment).items() if value}
    done = subprocess.run(
        [sys.executable, "-m", "glassformer", *arguments],
        env=environment, preexec_fn=before, stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    texts = [said.decode(errors="replace") for said in (done.stdout, done.stderr)]
    return Outcome(code=done.returncode, out=texts[0], err=texts[1])


# Variables

OF_PYTHON: dict[str, dict[str, str]] = {
    "c": {"LC_ALL": "C"},
    "a-locale-that-is-none": {"LC_ALL": "xx_YY.KOI99"},
    "latin-1": {"PYTHONIOENCODING": "latin-1"},
    "ascii-and-strict": {"PYTHONIOENCODING": "ascii:strict"},
    "a-time-zone-that-is-none": {"TZ": "Nowhere/Odd:99"},
    "warnings-are-errors": {"PYTHONWARNINGS": "error"},
    "without-docstrings": {"PYTHONOPTIMIZE": "2"},
    "paths-that-are-none": {"PYTHONPATH": f"{ROOT / 'src'}:/nonexistent:/etc/passwd:"},
    "no-home": {"HOME": "", "XDG_CACHE_HOME": ""},
}


@pytest.mark.parametrize("name", OF_PYTHON)
def test_variables_of_python(name: str) -> None:
    """The name in the message has letters that some of these encodings lack."""
    outcome = python("verify", NAME, variables=OF_PYTHON[name])
    answered(outcome, "there is no folder gr")


@mended
def test_the_list_of_commands_without_docstrings() -> None:
    outcome = python("--help", variables={"PYTHONOPTIMIZE": "2"})
    assert (outcome.code, outcome.err) == (0, "")
    assert "predict" in outcome.out
    assert "None" not in outcome.out


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0"}
"""Python then reads and writes ASCII."""


@mended
def test_names_and_labels_in_a_locale_of_ascii(tmp_path: Path) -> None:
    said = python("verify", NAME, variables=ASCII)
    answered(said, f"argument 2, '{NAME}', cannot be read in this locale", "set LC_ALL=C.UTF-8")
    for name in ("größe", "übel"):
        (tmp_path / "texts" / name).mkdir(parents=True)
        for number in range(9):
            (tmp_path / "texts" / name / f"ä{number}.txt").write_text(f"{name} {number}", encoding="utf-8")
    flags = ("--set", "training.epochs=0", "--set", "model.body=none")
    said = python("train", str(tmp_path / "texts"), "--out", str(tmp_path / "model"), *flags, variables=ASCII)
    assert said.code == 0, said.err
    assert "2 labels: 'größe' 9, 'übel' 9" in said.err
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "ä.txt").write_text("label\ttext\n__label__a b")
    said = python("pretrain", str(tmp_path / "notes"), "--out", str(tmp_path / "lm"), variables=ASCII)
    answered(said, "notes/ä.txt: ")
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "ä.csv").write_text("text\na film\n")
    answers = ("--file", str(tmp_path / "shards"), "--out", str(tmp_path / "answers"))
    said = python("predict", str(tmp_path / "model"), *answers, variables=ASCII)
    answered(said, "the name 'ä.csv' in ", "cannot be read in this locale, whose encoding is ascii; set LC_ALL=C.UTF-8")


OURS: dict[str, dict[str, str]] = {
    "home-is-a-file": {"HOME": "/etc/passwd", "XDG_CACHE_HOME": ""},
    "home-is-nowhere": {"HOME": "/nonexistent/home", "XDG_CACHE_HOME": ""},
    "cache-is-a-device": {"XDG_CACHE_HOME": "/dev/null"},
    "cache-turns-round": {"XDG_CACHE_HOME": "\u202e\x1b[2J"},
    "data-is-a-file": {"GLASSFORMER_DATA": "/etc/passwd"},
    "data-is-nowhere": {"GLASSFORMER_DATA": "/nonexistent"},
    "data-of-two-lines": {"GLASSFORMER_DATA": "a\nb"},
    "data-is-long": {"GLASSFORMER_DATA": "x" * 5_000},
    "columns-of-none": {"COLUMNS": "0", "LINES": "-1"},
    "a-terminal-of-none": {"TERM": "\x1b[2J"},
    "several-processes-of-none": {"WORLD_SIZE": "²"},
    "a-key-for-a-server": {"GLASSFORMER_API_KEY": "\n"},
    "threads-of-none": {"OMP_NUM_THREADS": "many"},
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[mended] if name == "data-is-long" else []) for name in OURS]
)
def test_variables_that_the_project_reads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in OURS[name].items():
        monkeypatch.setenv(variable, value) if value else monkeypatch.delenv(variable, raising=False)
    outcome = glassformer("data", "list", "--json")
    assert outcome.code == 0, outcome.err
    harmless(outcome)
    assert outcome.document


@mended
@pytest.mark.parametrize("variable", ["OTEL_METRIC_EXPORT_INTERVAL=-1", "OTEL_PROPAGATORS=nosuch"])
def test_variables_that_opentelemetry_refuses(variable: str, reviews: Trained) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="pip install 'glassformer[otel]'")
    name, _, value = variable.partition("=")
    answered(
        python("serve", str(reviews.folder), "--otel", "--quiet", variables={name: value}),
        "a variable OTEL_… cannot be used",
        value,
    )


@mended
def test_a_user_whom_the_system_does_not_know(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs as any number."""

    def unknown(number: int) -> None:
        raise KeyError(number)

    for variable in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    assert glassformer("data", "list", "--json").code == 0


RANKS: dict[str, dict[str, str]] = {
    "a-word": {"RANK": "first"},
    "too-large": {"RANK": "7"},
    "negative": {"RANK": "-1"},
    "of-another-script": {"RANK": "²"},
    "of-many-digits": {"RANK": "9" * 30},
    "local-rank-a-word": {"LOCAL_RANK": "x"},
    "local-rank-too-large": {"LOCAL_RANK": "2"},
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[mended] if name in ("a-word", "too-large", "of-many-digits") else []) for name in RANKS],
)
def test_a_rank_that_cannot_be(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = {"WORLD_SIZE": "2", "RANK": "0", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    for variable, value in (whole | RANKS[name]).items():
        monkeypatch.setenv(variable, value)
    ((variable, value),) = RANKS[name].items()
    answered(glassformer("train", "polarity", "--out", tmp_path / "m"), f"{variable}={value} is no number below it")
    assert not (tmp_path / "m").exists()


@mended
@pytest.mark.parametrize("digits", [23, 5_000])
def test_more_processes_than_there_can_be(digits: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    whole = {"WORLD_SIZE": "9" * digits, "RANK": "0", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    for variable, value in whole.items():
        monkeypatch.setenv(variable, value)
    answered(glassformer("train", "polarity", "--out", tmp_path / "m"), "is no number of processes")


# Folders and limits


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("predict", "sentiment-en", "good"), id="predict", marks=mended),
        pytest.param(("train", "t.csv", "--out", "m"), id="train", marks=mended),
        pytest.param(("verify", "sentiment-en"), id="verify"),
    ],
)
def test_a_folder_that_was_removed(arguments: tuple[str, ...], tmp_path: Path) -> None:
    here = tmp_path / "here"
    here.mkdir()

    def removed() -> None:
        os.chdir(here)
        here.rmdir()

    answered(python(*arguments, before=removed), "the folder that you are in was removed")


NAMELESS: dict[tuple[str, ...], str] = {
    ("labels", "/"): "is a folder",
    ("learn-word", "/", "zorp", "--definition", "a good film"): "is not a model folder",
    ("embeddings", "u.txt", "--out", "."): "replaced as a whole",
    ("embeddings", "u.txt", "--out", "/"): "replaced as a whole",
    ("embeddings", "u.txt", "--from", "english", "--out", "./"): "replaced as a whole",
    ("embeddings", "u.txt", "--out", ""): "replaced as a whole",
}


@pytest.mark.mended
@pytest.mark.parametrize("arguments", NAMELESS, ids=" ".join)
def test_a_folder_that_has_no_name(arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "u.txt").write_text("a good film and a bad film\n" * 9)
    monkeypatch.chdir(tmp_path)
    with nothing_lost(tmp_path):
        answered(glassformer(*arguments), NAMELESS[arguments])


def test_too_little_memory_to_load() -> None:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (150 << 20, 150 << 20))

    answered(python("predict", "sentiment-en", "a", before=limited), "out of memory", code=1)


@pytest.mark.parametrize("files", [6, 8])
def test_few_open_files(files: int) -> None:
    outcome = python("verify", NAME, before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files,) * 2))
    answered(outcome, f"there is no folder {NAME}")


@mended
@pytest.mark.parametrize(
    "error",
    [
        None,  # the command itself starts no thread
        RuntimeError("can't start new thread"),
        pl.exceptions.PanicException("failed to spawn polars-ooc cleaner thread: Os { code: 11, kind: WouldBlock }"),
        pl.exceptions.PanicException("The global thread pool has not been initialized.: ThreadPoolBuildError { … }"),
    ],
    ids=["none", "python", "polars", "tokenizers"],
)
def test_no_thread_can_be_started(error: BaseException | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def shown(*_: object, **__: object) -> None:
        if error:
            raise error

    monkeypatch.setattr(threading.Thread, "start", refused)
    monkeypatch.setattr("glassformer.cli.recipes.show", shown)
    outcome = glassformer("recipes", "default")
    if error:
        answered(outcome, "no more threads can be started", "ulimit -u", code=1)
    else:
        assert (outcome.code, outcome.err) == (0, "")


@mended
def test_a_table_that_no_thread_reads_is_not_called_damaged(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise pl.exceptions.ComputeError("could not spawn threads: ThreadPoolBuildError { kind: IOError(…) }")

    monkeypatch.setattr("glassformer.data.rows._check_lengths", refused)
    outcome = glassformer("train", reviews.table, "--out", tmp_path / "m")
    answered(outcome, "no more threads can be started", code=1)


UNWRITABLE = {
    "labels": ("labels", "TABLE", "--out", "OUT/d.csv"),
    "explain": ("explain", "MODEL", "a film", "--html", "OUT/w.html"),
    "trace": ("trace", "MODEL", "a film", "--npz", "OUT/t.npz"),
    "evaluate": ("evaluate", "MODEL", "TABLE", "--out", "OUT/e"),
    "audit": ("audit", "MODEL", "--out", "OUT/a"),
    "pairs": ("align", "pairs", "TABLE", "--chosen", "good", "--out", "OUT/p"),
}


@mended
@pytest.mark.parametrize("command", UNWRITABLE)
def test_a_folder_where_nothing_can_be_written_is_named_before_the_work(
    command: str, reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path and access(path, mode))
    named = {"MODEL": str(reviews.folder), "TABLE": str(reviews.table)}
    words = [named.get(word, word.replace("OUT", str(tmp_path))) for word in UNWRITABLE[command]]
    outcome = glassformer(*words)
    answered(outcome, f"{words[-2]} {words[-1]}: nothing can be written there")
    assert outcome.err.startswith("error: ")
    assert not any(tmp_path.iterdir())


# What commands write

TEXTS = "text,label\na good film,very good\na bad film,good\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "given").mkdir()
    file = tmp_path / "given" / "t.csv"
    file.write_text(TEXTS)
    return file


WRITERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "predict": ("answers.csv", ("predict", "MODEL", "--file", "TABLE", "--out", "OUT")),
    "predict-lines": ("answers.jsonl", ("predict", "MODEL", "--file", "TABLE", "--out", "OUT")),
    "predict-packed": ("answers.csv.gz", ("predict", "MODEL", "--file", "TABLE", "--out", "OUT")),
    "explain": ("why.html", ("explain", "MODEL", "a good film", "--html", "OUT")),
    "explain-file": ("why.jsonl", ("explain", "MODEL", "--file", "TABLE", "--out", "OUT")),
    "labels": ("doubts.csv", ("labels", "LABELLED", "--out", "OUT")),
}


def written_by(command: str, reviews: Trained, table: Path, out: Path) -> Outcome:
    named = {"MODEL": reviews.folder, "TABLE": table, "LABELLED": reviews.table, "OUT": out}
    return glassformer(*(named.get(word, word) for word in WRITERS[command][1]))


@pytest.mark.parametrize("command", WRITERS)
def test_a_file_with_texts_is_its_owners_whatever_the_umask(
    command: str, reviews: Trained, table: Path, tmp_path: Path
) -> None:
    out, before = tmp_path / WRITERS[command][0], os.umask(0)
    try:
        outcome = written_by(command, reviews, table, out)
    finally:
        os.umask(before)
    assert outcome.code == 0, outcome.err
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "command", [pytest.param(each, marks=[mended] if each in ("predict", "explain") else []) for each in WRITERS]
)
def test_a_file_without_room_is_named_and_the_one_before_stays(
    command: str, reviews: Trained, table: Path, tmp_path: Path
) -> None:
    out = tmp_path / WRITERS[command][0]
    with files_of_at_most(10):
        outcome = written_by(command, reviews, table, out)
    answered(outcome, f"File too large: {out}", code=1)
    assert [path.name for path in tmp_path.iterdir()] == ["given"]


@pytest.mark.parametrize("command", [command for command in WRITERS if command != "explain-file"])
def test_ctrl_c_as_a_file_is_finished_leaves_the_one_before(
    command: str, reviews: Trained, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / WRITERS[command][0]

    def stopped(path: Path, to: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return path.rename(to)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", stopped)
        outcome = written_by(command, reviews, table, out)
    assert outcome.code == 130, outcome.err
    assert "Traceback" not in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["given"]
    assert written_by(command, reviews, table, out).code == 0


KILLED = """
import os, signal
from pathlib import Path
Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("command", ["predict", "explain-file", "labels"])
def test_killed_as_a_file_is_finished_and_then_again(
    command: str, reviews: Trained, table: Path, tmp_path: Path
) -> None:
    """What the killed process was writing is removed by the next one."""
    out = tmp_path / WRITERS[command][0]
    assert written_by(command, reviews, table, out).code == 0
    whole = out.read_bytes()
    out.write_bytes(b"mine")
    named = {"MODEL": reviews.folder, "TABLE": table, "LABELLED": reviews.table, "OUT": out}
    words = [named.get(word, word) for word in WRITERS[command][1]]
    code = f"import sys\n{KILLED}\nsys.argv[0] = 'glassformer'\nfrom glassformer.__main__ import main\nmain()"
    with nothing_lost(out, table.parent):
        assert Running("-c", code, *words, "--overwrite", log=tmp_path / "given" / "log").end() == -signal.SIGKILL
        for log in (table.parent / "log.out", table.parent / "log.err"):
            log.unlink()
    assert any(ASIDE in path.name for path in tmp_path.iterdir())
    assert glassformer(*words, "--overwrite").code == 0
    assert out.read_bytes() == whole
    assert not any(ASIDE in path.name for path in tmp_path.iterdir())


def test_two_processes_that_write_one_file(reviews: Trained, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "answers.csv"
    words = ("-m", "glassformer", "predict", reviews.folder, "--file", table, "--out", out, "--overwrite")
    both = [Running(*words, log=tmp_path / f"log{number}") for number in range(2)]
    assert [run.end() for run in both] == [0, 0]
    assert len(out.read_text().splitlines()) == 3
    assert not any(ASIDE in path.name for path in tmp_path.iterdir())


# An evaluation that links elsewhere


@pytest.fixture
def model(reviews: Trained, tmp_path: Path) -> Path:
    return shutil.copytree(reviews.folder, tmp_path / "model", ignore=shutil.ignore_patterns("evaluation"))


@pytest.mark.parametrize("where", [pytest.param("mine", marks=mended), "nowhere", "evaluation"])
def test_an_evaluation_that_links_elsewhere_is_not_written(
    where: str, model: Path, reviews: Trained, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "metrics.json").write_text('{"mine": 1}')
    (mine / "report.html").write_text("mine")
    (model / "evaluation").symlink_to(mine if where == "mine" else where)
    with nothing_lost(mine):
        answered(glassformer("evaluate", model, reviews.table), str(model / "evaluation"), "is a link", "--out")


@pytest.mark.parametrize("name", ["metrics.json", "report.html"])
def test_a_file_of_an_evaluation_that_links_elsewhere_is_replaced_itself(
    name: str, model: Path, reviews: Trained, tmp_path: Path
) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (model / "evaluation").mkdir()
    (model / "evaluation" / name).symlink_to(mine)
    with nothing_lost(mine):
        outcome = glassformer("evaluate", model, reviews.table, "--json")
        assert outcome.code == 0, outcome.err
    assert not (model / "evaluation" / name).is_symlink()
    figures: Any = json.loads((model / "evaluation" / "metrics.json").read_text())
    assert figures["data"]["rows"] == outcome.document["data"]["rows"]
