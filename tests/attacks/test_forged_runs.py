"""Unfinished runs are forged, and their checksums fit"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from glassformer.data.arrays import Array
from glassformer.data.checksums import load_arrays, save_arrays
from glassformer.training.checkpoint import _digest
from tests.attacks.answer import answered
from tests.cli.terminal import Outcome, ctrl_c, glassformer
from tests.matrix.samples import ALONE, SMALL
from tests.trained import Trained, keep_lines

Forge = Callable[[Path], None]
FLAGS = (*SMALL, "--set", "training.epochs=3", "--set", "training.batch_size=16",
         "--set", "training.min_steps_per_epoch=3", "--device", "cpu")  # fmt: skip
ALONE_FLAGS = (*FLAGS, *ALONE, "--set", "model.body=none", "--set", "validation.min_rows=10")
CROSSED_FLAGS = (*FLAGS, "--set", "model.body=none", "--set", "validation.min_rows=300")
PROMISE = {"training": 1, "epoch": 1, "rows": 30, "gain": 0.1, "expected": 0.2, "seconds": 1.0}


@pytest.fixture(scope="module")
def table(reviews: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    short = Path(shutil.copy(reviews.table, tmp_path_factory.mktemp("table")))
    keep_lines(short, 61)
    return short


def stopped(command: tuple[object, ...], out: Path, step: int) -> Path:
    with ctrl_c(step):
        outcome = glassformer(*command, "--out", out)
    assert outcome.code == 130, outcome.err
    return out


def state(forge: Callable[[dict[str, Any]], Any], **tensors: Any) -> Forge:
    """Change what the checkpoint says, or its tensors, and write a checksum that fits."""

    def write(work: Path) -> None:
        file = work / "state.safetensors"
        with safe_open(file, framework="pt") as opened:
            said = json.loads(opened.metadata()["said"])
            held = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        for start, change in tensors.items():
            held |= {name: change(each) for name, each in held.items() if name.startswith(start)}
        held = {name: each for name, each in held.items() if each is not None}
        text = json.dumps(forge(said))
        save_file(held, file, metadata={"said": text, "sha256": _digest(held, text)})

    return write


def saying(**changed: Any) -> Forge:
    return state(lambda said: said | changed)


STATES: dict[str, Forge] = {
    "epoch-negative": saying(epoch=-1),
    "batch-negative": saying(batch=-5),
    "step-negative": saying(step=-3),
    "step-a-fraction": saying(step=1.5),
    "no-parts": saying(micro_batches=0),
    "endless-seconds": saying(seconds=float("inf")),
    "seconds-in-words": saying(seconds="1"),
    "rate-nan": saying(learning_rate=float("nan")),
    "other-totals": saying(sums={"a": 1.0}),
    "totals-in-words": saying(sums={"loss": "x"}),
    "no-totals": saying(sums=None),
    "epochs-without-figures": saying(epoch=1, history=[{}]),
    "epochs-in-words": saying(history=["x"]),
    "steps-beyond-the-epoch": saying(batch=10**9),
    "steps-without-totals": saying(sums={}),
    "totals-of-nothing": saying(sums=dict.fromkeys(("loss", "correct", "count", "weight"), 0.0)),
    "epochs-beyond-all": saying(epoch=10**18),
    "epochs-without-rows": saying(epoch=3, history=[]),
    "step-of-400-digits": saying(step=10**400),
    "best-of-no-epoch": saying(best_epoch=77),
    "seconds-negative": saying(seconds=-1e9),
    "seconds-without-end": saying(seconds=1e300),
    "best-weights-of-others": state(dict, **{"best.": lambda tensor: tensor.reshape(-1)[:1].clone()}),
    "best-weights-of-integers": state(dict, **{"best.": lambda tensor: tensor.to(torch.int8)}),
    "best-weights-missing": state(dict, **{"best.": lambda _: None}),
    "weights-of-integers": state(dict, **{"model.": lambda tensor: tensor.to(torch.int8)}),
    "more-fields": saying(more=1),
    "a-list": state(lambda said: [said]),
    "optimizer-of-another-model": state(dict, optimizer=lambda tensor: tensor.reshape(-1)[:1].clone()),
    "optimizer-without-buffers": state(dict, **{"optimizer.0.0.exp_avg": lambda _: None}),
    "random-numbers-of-zeros": state(dict, **{"random.cpu": torch.zeros_like}),
}
FORMERLY = {
    "more-fields",
    "a-list",
    "random-numbers-of-zeros",
    "promise-of-negative-seconds",
    "of-endless-seconds",
    "of-other-rows",
    "of-huge-numbers",
    "of-1e300",
}
"""Cases that were answered well from the first."""


@pytest.fixture(scope="module")
def alone(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stopped(("train", table, *ALONE_FLAGS), tmp_path_factory.mktemp("alone") / "out", 7)


def cases(table: dict[str, Forge]) -> list[Any]:
    return [pytest.param(name, marks=[] if name in FORMERLY else pytest.mark.mended) for name in table]


@pytest.mark.parametrize("name", cases(STATES))
def test_a_forged_checkpoint_is_not_resumed(name: str, table: Path, alone: Path, tmp_path: Path) -> None:
    out = shutil.copytree(alone, tmp_path / "out")
    STATES[name](out / "checkpoint")
    outcome = glassformer("train", table, *ALONE_FLAGS, "--out", out, "--resume")
    answered(outcome, "cannot be resumed", "--overwrite", code=1)
    assert "validation error" not in outcome.err


def promise(text: str) -> Forge:
    def write(work: Path) -> None:
        (work / "promise.json").write_text(text)

    return write


def held_out(file: str, shape: tuple[int, int], seconds: Any = 1.0) -> Forge:
    return lambda work: save_arrays(
        work / file / "held-out.safetensors", {"logits": np.zeros(shape, np.float32)}, seconds
    )


def answers(change: Callable[[Array], Array], seconds: Any = 1.0) -> Forge:
    def write(work: Path) -> None:
        kept = load_arrays(work / "teacher" / "0" / "held-out.safetensors")
        assert kept is not None
        save_arrays(work / "teacher" / "0" / "held-out.safetensors", {"logits": change(kept[0]["logits"])}, seconds)

    return write


CROSSED: dict[str, Forge] = {
    "promise-empty": promise(""),
    "promise-cut": promise('{"training": 1'),
    "promise-a-list": promise("[]"),
    "promise-nested": promise("[" * 100_000),
    "promise-in-words": promise(json.dumps(PROMISE | {"gain": "x"})),
    "promise-nan": promise(json.dumps(PROMISE | {"seconds": float("nan")})),
    "promise-of-negative-seconds": promise(json.dumps(PROMISE | {"seconds": -1e12})),
    "fold-of-more-classes": held_out("fold-1", (15, 3)),
    "fold-of-more-rows": held_out("fold-1", (5_000, 2)),
    "fold-of-endless-seconds": held_out("fold-1", (15, 2), float("inf")),
    "fold-of-400-digits": held_out("fold-1", (15, 2), 10**400),
    "counting-of-other-rows": held_out("counting", (1, 2)),
    "counting-of-400-digits": held_out("counting", (60, 2), 10**400),
}


@pytest.fixture(scope="module")
def crossed(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = stopped(("train", table, *CROSSED_FLAGS), tmp_path_factory.mktemp("crossed") / "out", 8)
    assert (out / "checkpoint" / "fold-1").is_dir()
    return out


def resumed(outcome: Outcome, out: Path) -> None:
    assert outcome.code == 0, outcome.err[-2000:]
    assert (out / "config.json").is_file()
    assert not (out / "checkpoint").exists()


@pytest.mark.parametrize("name", cases(CROSSED))
def test_forged_answers_to_held_out_rows_are_made_again(name: str, table: Path, crossed: Path, tmp_path: Path) -> None:
    out = shutil.copytree(crossed, tmp_path / "out")
    CROSSED[name](out / "checkpoint")
    resumed(glassformer("train", table, *CROSSED_FLAGS, "--out", out, "--resume"), out)


TEACHERS: dict[str, Forge] = {
    "of-400-digits": answers(lambda logits: logits, 10**400),
    "of-endless-seconds": answers(lambda logits: logits, float("inf")),
    "of-other-rows": answers(lambda logits: logits[:1]),
    "of-huge-numbers": answers(lambda logits: logits * 0 + np.float32(3e38)),
    "of-1e300": answers(lambda logits: logits.astype(np.float64) + 1e300),
}


@pytest.fixture(scope="module")
def taught(table: Path, reviews: Trained, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return stopped(distil(table, reviews), tmp_path_factory.mktemp("taught") / "out", 4)


def distil(table: Path, reviews: Trained) -> tuple[object, ...]:
    return ("distil", reviews.folder, table, "--into", "small", *FLAGS, "--set", "validation.min_rows=10")


@pytest.mark.parametrize("name", cases(TEACHERS))
def test_forged_answers_of_a_teacher(name: str, table: Path, reviews: Trained, taught: Path, tmp_path: Path) -> None:
    out = shutil.copytree(taught, tmp_path / "out")
    TEACHERS[name](out / "checkpoint")
    resumed(glassformer(*distil(table, reviews), "--out", out, "--resume"), out)


def arrays(file: str, change: Callable[[Array], Array], said: Callable[[Any], Any] = lambda said: said) -> Forge:
    def write(work: Path) -> None:
        kept = load_arrays(work / file)
        assert kept is not None
        save_arrays(work / file, {name: change(each) for name, each in kept[0].items()}, said(kept[1]))

    return write


WORDS, NEAR = "words.safetensors", "neighbours.safetensors"
EMBEDDINGS: dict[str, Forge] = {
    "words-of-nothing": lambda work: save_arrays(work / WORDS, {"a": np.ones(1)}),
    "words-that-say-nothing": arrays(WORDS, lambda each: each, lambda _: None),
    "words-of-odd-types": arrays(WORDS, lambda each: each, lambda said: dict.fromkeys(said, "x")),
    "words-negative": arrays(WORDS, lambda each: -each),
    "words-beyond-the-last": arrays(WORDS, lambda each: each * 0 + 10**6),
    "words-cut": arrays(WORDS, lambda each: each[:1]),
    "neighbours-of-nothing": lambda work: save_arrays(work / NEAR, {"a": np.ones(1)}),
    "neighbours-nan": arrays(NEAR, lambda each: each * np.nan if each.dtype.kind == "f" else each),
    "neighbours-beyond-the-last": arrays(NEAR, lambda each: each if each.dtype.kind == "f" else each + 10**6),
    "neighbours-negative": arrays(NEAR, lambda each: -each),
    "neighbours-cut": arrays(NEAR, lambda each: each[:1]),
    "neighbours-of-bytes": arrays(NEAR, lambda each: each.astype(np.int8)),
}


@pytest.mark.mended
@pytest.mark.parametrize("name", EMBEDDINGS)
def test_forged_words_and_neighbours_are_counted_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "texts.txt").write_text(
        "\n".join(f"the film {n % 9} is good and the book {n % 7} bad" for n in range(99))
    )
    asked = ("embeddings", tmp_path / "texts.txt", "--dims", 4, "--min-count", 2)
    whole = glassformer(*asked, "--out", tmp_path / "whole")
    assert whole.code == 0, whole.err
    with monkeypatch.context() as patched:
        patched.setattr("glassformer.readers.body.learning.factorised", Mock(side_effect=KeyboardInterrupt))
        assert glassformer(*asked, "--out", tmp_path / "out").code == 130
    EMBEDDINGS[name](tmp_path / "out.unfinished" / "checkpoint")
    resumed = glassformer(*asked, "--out", tmp_path / "out", "--resume")
    assert resumed.code == 0, resumed.err
    for file in ("words.txt", "vectors.safetensors"):
        assert (tmp_path / "out" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


@pytest.mark.mended
@pytest.mark.parametrize("changed", [
    {"data": {"source": "x"}}, {"data": {"texts": "x", "tokens": 1}}, {"recipe": {"training": {"batch_size": "x"}}},
])  # fmt: skip
def test_a_forged_record_of_the_first_stage(changed: dict[str, Any], table: Path, tmp_path: Path) -> None:
    command = ("train", table, *ALONE_FLAGS, "--set", "pretraining.max_steps=2", "--out", tmp_path / "out")
    with ctrl_c(4):
        assert glassformer(*command).code == 130
    made = tmp_path / "out" / "checkpoint" / "pretraining"
    (made / "SHA256SUMS").unlink()
    (made / "config.json").write_text(json.dumps(json.loads((made / "config.json").read_text()) | changed))
    answered(glassformer(*command, "--resume"), "does not say how it was made", code=1)
