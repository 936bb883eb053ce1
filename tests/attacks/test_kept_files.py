"""Files that runs leave and read again are damaged, or replaced by pipes and links."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from glassformer.data.locks import LOCK_FILE
from glassformer.prediction.shard_manifest import MANIFEST
from tests.attacks.answer import answered, nothing_lost
from tests.bodies import SMALL as BODY
from tests.cli.conftest import quick as quick
from tests.cli.terminal import Outcome, ctrl_c, glassformer
from tests.matrix.samples import ALONE, SMALL
from tests.trained import Trained, keep_lines

Tamper = Callable[[Path], Any]
NESTED = "[" * 100_000 + "]" * 100_000
FLAGS = (*SMALL, *ALONE, "--set", "model.body=none", "--set", "training.epochs=2", "--set", "training.batch_size=16",
         "--set", "training.min_steps_per_epoch=3", "--set", "validation.min_rows=10", "--device", "cpu")  # fmt: skip
mended = pytest.mark.mended


@pytest.fixture(scope="module")
def table(reviews: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    short = Path(shutil.copy(reviews.table, tmp_path_factory.mktemp("table")))
    keep_lines(short, 61)
    return short


# What is done to a file


def pipe(file: Path) -> None:
    file.unlink(missing_ok=True)
    os.mkfifo(file)


def link(to: str) -> Tamper:
    def tamper(file: Path) -> None:
        file.unlink(missing_ok=True)
        file.symlink_to(to)

    return tamper


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def text(content: str) -> Tamper:
    return lambda file: file.write_text(content, encoding="utf-8")


def halved(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def other_arrays(file: Path) -> None:
    save_file({"a": np.ones(3)}, file)


def arrays(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Tamper:
    return lambda file: save_file(
        {name: np.ascontiguousarray(array) for name, array in change(load_file(file)).items()}, file
    )


def values(**changed: Any) -> Tamper:
    return lambda file: file.write_text(json.dumps(json.loads(file.read_text()) | changed))


ENDLESS = link("/dev/zero")
NOWHERE = link("nowhere")
ITSELF: Tamper = lambda file: link(file.name)(file)  # noqa: E731

# An unfinished run that is resumed

STATE, RUN, STORE, SUMS = "state.safetensors", "run.json", "train/store.json", "SHA256SUMS"


@pytest.fixture(scope="module")
def stopped(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("stopped") / "out"
    with ctrl_c(4):
        outcome = train(table, out)
    assert outcome.code == 130, outcome.err
    return out


def train(table: Path, out: Path, *more: object) -> Outcome:
    return glassformer("train", table, "--out", out, *FLAGS, *more)


REFUSED_RUNS: dict[str, tuple[str, Tamper, str]] = {
    "run-missing": (RUN, Path.unlink, "run.json is damaged or missing"),
    "run-a-link-to-nothing": (RUN, NOWHERE, "run.json is damaged or missing"),
    "run-a-folder": (RUN, folder, "run.json is damaged or missing"),
    "run-empty": (RUN, text(""), "run.json is damaged or missing"),
    "run-cut": (RUN, halved, "run.json is damaged or missing"),
    "run-a-list": (RUN, text("[]"), "run.json is damaged or missing"),
    "run-nested": (RUN, text(NESTED), "run.json is damaged or missing"),
    "run-a-pipe": (RUN, pipe, "run.json is damaged or missing"),
    "run-endless": (RUN, ENDLESS, "run.json is damaged or missing"),
    "sums-binary": (SUMS, lambda file: file.write_bytes(bytes(range(256))), "SHA256SUMS is damaged: line 1"),
    "state-empty": (STATE, lambda file: file.write_bytes(b""), "cannot be resumed"),
    "state-cut": (STATE, halved, "cannot be resumed"),
    "state-of-others": (STATE, other_arrays, "cannot be resumed"),
    "state-of-no-arrays": (STATE, text(NESTED), "cannot be resumed"),
}
GOES_ON: dict[str, tuple[str, Tamper]] = {
    "sums-missing": (SUMS, Path.unlink),
    "sums-a-pipe": (SUMS, pipe),
    "state-missing": (STATE, Path.unlink),
    "state-a-pipe": (STATE, pipe),
    "state-endless": (STATE, ENDLESS),
    "state-a-link-to-itself": (STATE, ITSELF),
    "store-nested": (STORE, text(NESTED)),
    "store-a-list": (STORE, text("[]")),
    "store-a-pipe": (STORE, pipe),
    "tokens-a-pipe": ("train/tokens.bin", pipe),
    "tokens-endless": ("train/tokens.bin", ENDLESS),
    "tokens-cut": ("train/tokens.bin", halved),
    "offsets-of-others": ("train/offsets.npy", lambda file: np.save(file, np.ones(3))),
    "offsets-pickled": ("train/offsets.npy", lambda file: np.save(file, np.array([{}]), allow_pickle=True)),
    "vocabulary-cut": ("tokenizer.json", halved),
}
BROKE = {
    "run-a-pipe",
    "run-endless",
    "state-of-others",
    "store-nested",
    "store-a-pipe",
    "tokens-a-pipe",
    "tokens-endless",
}


def named(table: dict[str, Any], broke: set[str]) -> list[Any]:
    return [pytest.param(name, marks=[mended] if name in broke else []) for name in table]


@pytest.mark.parametrize("name", named(REFUSED_RUNS, BROKE))
def test_a_damaged_run_is_not_resumed(name: str, table: Path, stopped: Path, tmp_path: Path) -> None:
    file, tamper, words = REFUSED_RUNS[name]
    out = shutil.copytree(stopped, tmp_path / "out")
    tamper(out / "checkpoint" / file)
    with nothing_lost(out):
        answered(train(table, out, "--resume"), words, code=1)


@pytest.mark.parametrize("name", named(GOES_ON, BROKE))
def test_what_can_be_made_again_is_made_again(name: str, table: Path, stopped: Path, tmp_path: Path) -> None:
    file, tamper = GOES_ON[name]
    out = shutil.copytree(stopped, tmp_path / "out")
    tamper(out / "checkpoint" / file)
    outcome = train(table, out, "--resume")
    assert outcome.code == 0, outcome.err
    assert "Traceback" not in outcome.err
    assert not (out / "checkpoint").exists()
    assert (out / "config.json").is_file()


@mended
def test_what_is_made_again_follows_no_link(table: Path, stopped: Path, tmp_path: Path) -> None:
    out, mine = shutil.copytree(stopped, tmp_path / "out"), tmp_path / "mine"
    mine.write_text("mine")
    link(str(mine))(out / "checkpoint" / "train" / "tokens.bin")
    with nothing_lost(mine):
        assert train(table, out, "--resume").code == 0


@mended
@pytest.mark.parametrize("flag", ["--resume", "--overwrite"])
@pytest.mark.parametrize("name", [".", "train"])
def test_nothing_is_written_where_a_linked_folder_leads(
    name: str, flag: str, table: Path, stopped: Path, tmp_path: Path
) -> None:
    out, mine = shutil.copytree(stopped, tmp_path / "out"), tmp_path / "mine"
    shutil.move(out / "checkpoint" / name, mine)
    (mine / "tokens.bin").write_text("mine")
    (out / "checkpoint" / name).symlink_to(mine)
    with nothing_lost(mine):
        answered(train(table, out, flag), "is a link, and what lies", code=2)


# The lock


@pytest.mark.parametrize("name", [pytest.param("link", marks=mended), pytest.param("pipe", marks=mended), "folder"])
def test_another_thing_of_the_name_of_the_lock(name: str, table: Path, tmp_path: Path) -> None:
    out, mine = tmp_path / "out", tmp_path / "mine"
    out.mkdir()
    mine.write_text("mine")
    {"link": link(str(mine)), "pipe": pipe, "folder": Path.mkdir}[name](out / LOCK_FILE)
    with nothing_lost(mine):
        answered(train(table, out), LOCK_FILE, "no run made it; remove it")
    assert os.path.lexists(out / LOCK_FILE)


# Answers to shards


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory, reviews: Trained) -> Path:
    """A folder with two shards, and a folder with the answers to them."""
    place = tmp_path_factory.mktemp("shards")
    (place / "given").mkdir()
    for number in range(2):
        (place / "given" / f"{number}.csv").write_text(f"text\na good film {number}\na bad film\n")
    outcome = glassformer("predict", reviews.folder, "--file", place / "given", "--out", place / "answers")
    assert outcome.code == 0, outcome.err
    return place


def line(number: int, **changed: Any) -> Tamper:
    def tamper(file: Path) -> None:
        lines = file.read_text().splitlines()
        lines[number] = json.dumps(json.loads(lines[number]) | changed)
        file.write_text("\n".join(lines) + "\n")

    return tamper


MANIFESTS: dict[str, tuple[Tamper, tuple[str, ...], int]] = {
    "a-pipe": (pipe, ("a folder with other files",), 2),
    "a-link-to-nothing": (NOWHERE, ("a folder with other files",), 2),
    "empty": (lambda file: os.truncate(file, 0), ("is damaged",), 1),
    "cut-in-the-first-line": (lambda file: os.truncate(file, 10), ("is damaged",), 1),
    "binary": (lambda file: file.write_bytes(bytes(range(256))), ("is damaged",), 1),
    "nested": (text(NESTED + "\n"), ("is damaged",), 1),
    "rows-a-text": (line(1, rows="many"), ("is damaged",), 1),
    "answers-up": (line(1, answers="../mine"), ("is damaged",), 1),
    "answers-dots": (line(1, answers=".."), ("is damaged",), 1),
    "answers-nul": (line(1, answers="a\0b.csv"), ("is damaged",), 1),
    "answers-of-5000": (line(1, answers="a" * 5_000), ("is damaged",), 1),
    "of-another-model": (line(0, model="x"), ("of another model",), 2),
    "of-another-column": (line(0, text_column="x" * 5_000), ("the column 'xxx",), 2),
    "of-another-size": (line(1, size=-1), ("was changed after",), 2),
}
ANSWERS_BROKE = {"answers-nul", "answers-of-5000"}


@pytest.mark.parametrize("name", named(MANIFESTS, ANSWERS_BROKE))
@pytest.mark.parametrize("more", [(), ("--overwrite",)], ids=["", "overwrite"])
def test_a_tampered_list_of_answers(
    name: str, more: tuple[str], shards: Path, reviews: Trained, tmp_path: Path
) -> None:
    tamper, words, code = MANIFESTS[name]
    out, mine = shutil.copytree(shards / "answers", tmp_path / "answers"), tmp_path / "mine"
    mine.write_text("mine")
    tamper(out / MANIFEST)
    with nothing_lost(mine, shards):
        outcome = glassformer("predict", reviews.folder, "--file", shards / "given", "--out", out, *more)
        if more and words[0] not in ("is damaged", "a folder with other files"):
            assert outcome.code == 0, outcome.err  # these answers were to be replaced
        else:
            answered(outcome, *words, code=code)


@mended
def test_a_shard_that_links_to_nothing_is_named(shards: Path, reviews: Trained, tmp_path: Path) -> None:
    given = shutil.copytree(shards / "given", tmp_path / "given")
    (given / "2.csv").symlink_to("gone.csv")
    answered(glassformer("predict", reviews.folder, "--file", given, "--out", tmp_path / "out"), "'2.csv'", "remove")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["train", pytest.param("predict", marks=mended)])
def test_a_shard_that_is_a_pipe_is_named(command: str, shards: Path, reviews: Trained, tmp_path: Path) -> None:
    given = shutil.copytree(shards / "given", tmp_path / "given")
    os.mkfifo(given / "2.csv")
    read = ("train", given) if command == "train" else ("predict", reviews.folder, "--file", given)
    answered(glassformer(*read, "--out", tmp_path / "out"), "'2.csv', a pipe or a device", "remove")
    assert not (tmp_path / "out").exists()


# What verify and audit read

VERIFIED: dict[str, tuple[str, Tamper]] = {
    "store-nested": ("checkpoint/train/store.json", text(NESTED)),
    "store-a-pipe": ("checkpoint/train/store.json", pipe),
    "tokens-a-pipe": ("checkpoint/train/tokens.bin", pipe),
    "tokens-endless": ("checkpoint/train/tokens.bin", ENDLESS),
    "state-a-pipe": ("checkpoint/state.safetensors", pipe),
    "state-endless": ("checkpoint/state.safetensors", ENDLESS),
    "state-of-others": ("checkpoint/state.safetensors", other_arrays),
    "state-a-folder": ("checkpoint/state.safetensors", folder),
}


@pytest.mark.parametrize(
    "name", named(VERIFIED, set(VERIFIED) - {"state-endless", "state-of-others", "state-a-folder"})
)
def test_verify_names_a_damaged_file_of_a_run(name: str, stopped: Path, tmp_path: Path) -> None:
    file, tamper = VERIFIED[name]
    out = shutil.copytree(stopped, tmp_path / "out")
    tamper(out / file)
    answered(glassformer("verify", out), "checkpoint", code=1)


@pytest.mark.parametrize("name", [pytest.param("pipe", marks=mended), "endless", "folder"])
def test_verify_passes_over_a_list_of_answers_that_is_none(name: str, shards: Path, tmp_path: Path) -> None:
    out = shutil.copytree(shards / "answers", tmp_path / "answers")
    {"pipe": pipe, "endless": ENDLESS, "folder": folder}[name](out / MANIFEST)
    answered(glassformer("verify", out), "has a checksum")


PAGES: dict[str, str] = {
    "comments-without-end": "<!--" * 50_000,
    "declarations": "<![x[" * 2_000,
    "a-letter-of-5000-digits": "&#" + "9" * 5_000 + ";",
    "tags-without-end": "<a " * 20_000,
    "tags-with-an-end": "<a " * 20_000 + ">",
    "quotes-without-end": '<a b="' * 10_000 + ">",
    "half-of-a-pair": '<script type="application/json">"\\ud800@example.org"</script>',
    "nested-json": f'<script type="application/json">{NESTED}</script>',
}


@pytest.mark.parametrize(
    "name", named(PAGES, {"comments-without-end", "declarations", "a-letter-of-5000-digits", "tags-without-end"})
)
def test_audit_searches_odd_pages(name: str, reviews: Trained, tmp_path: Path) -> None:
    model = shutil.copytree(reviews.folder, tmp_path / "model")
    (model / "page.html").write_text(f"{PAGES[name]}\nanna.rossi@example.org\n")
    found = glassformer("audit", model, "--out", tmp_path / "audit", "--json")
    assert found.code == 0, found.err
    (page,) = [file for file in found.document["files"] if file["name"] == "page.html"]
    assert page["found"] or name == "nested-json", "the address is found"


@mended
def test_audit_names_a_file_whose_name_is_not_utf_8(reviews: Trained, tmp_path: Path) -> None:
    model = shutil.copytree(reviews.folder, tmp_path / "model")
    os.close(os.open(os.fsencode(model) + b"/caf\xe9.txt", os.O_CREAT))
    found = glassformer("audit", model, "--out", tmp_path / "audit", "--json")
    assert found.code == 0, found.err
    assert any(file["name"].startswith("caf") for file in found.document["files"])


# A body

BODIES: dict[str, tuple[str, Tamper, str]] = {
    "card-nested": ("body.json", text(NESTED), "body.json is nested too deep"),
    "card-a-list": ("body.json", text("[]"), "body.json: "),
    "card-of-odd-types": ("body.json", values(dims="many"), "body.json: dims: "),
    "card-with-more": ("body.json", values(license="<script>"), "body.json: license: "),
    "card-of-no-dimensions": ("body.json", values(dims=0), "dims: Input should be greater than or equal to 1"),
    "card-of-negative-ones": ("body.json", values(dims=-1), "dims: Input should be greater than or equal to 1"),
    "card-of-1e9": ("body.json", values(dims=10**9), "does not match words.txt"),
    "words-missing": ("words.txt", Path.unlink, "words.txt is missing"),
    "words-a-folder": ("words.txt", folder, "words.txt is not a file"),
    "words-a-pipe": ("words.txt", pipe, "words.txt is not a file"),
    "words-endless": ("words.txt", ENDLESS, "words.txt is not a file"),
    "words-binary": ("words.txt", lambda file: file.write_bytes(bytes(range(256))), "words.txt is damaged"),
    "words-twice": ("words.txt", text("a\na\n\nb\n\n"), "words.txt is damaged"),
    "vectors-a-pipe": ("vectors.safetensors", pipe, "vectors.safetensors is not a file"),
    "vectors-cut": ("vectors.safetensors", halved, "cut short or damaged"),
    "vectors-of-others": ("vectors.safetensors", other_arrays, "does not match words.txt"),
    "vectors-more": ("vectors.safetensors", arrays(lambda held: held | {"x": np.ones(2)}), "does not match words.txt"),
    "codes-of-floats": (
        "vectors.safetensors", arrays(lambda held: held | {"words": held["words"].astype(np.float32)}), "words holds"
    ),
    "codes-of-int64": (
        "vectors.safetensors", arrays(lambda held: held | {"pieces": held["pieces"].astype(np.int64)}), "pieces holds"
    ),
    "shares-nan": (
        "vectors.safetensors", arrays(lambda held: held | {"shares": held["shares"] * np.nan}), "shares holds"
    ),
    "shares-negative": ("vectors.safetensors", arrays(lambda held: held | {"shares": -held["shares"]}), "shares holds"),
    "scales-infinite": (
        "vectors.safetensors",
        arrays(lambda held: held | {"piece_scales": held["piece_scales"] + np.inf}), "scales holds",
    ),
    "scales-of-1e300": (
        "vectors.safetensors",
        arrays(lambda held: held | {"piece_scales": held["piece_scales"].astype(np.float64) + 1e300}), "scales holds",
    ),
}  # fmt: skip
BODIES_BROKE = {
    "card-a-list", "card-of-odd-types", "card-with-more", "words-a-pipe", "words-endless", "codes-of-floats",
    "codes-of-int64", "shares-nan", "shares-negative", "scales-infinite", "scales-of-1e300",
}  # fmt: skip


@pytest.mark.parametrize("name", named(BODIES, BODIES_BROKE))
def test_a_damaged_body_is_refused_before_training(name: str, table: Path, tmp_path: Path) -> None:
    file, tamper, words = BODIES[name]
    body = shutil.copytree(BODY, tmp_path / "body")
    tamper(body / file)
    outcome = glassformer(
        "train", table, "--out", tmp_path / "m", "--epochs", 0, "--device", "cpu", "--set", f"model.body={body}"
    )
    answered(outcome, words, code=1)
    assert "pydantic" not in outcome.err
    assert not (tmp_path / "m").exists()
