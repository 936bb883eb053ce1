import json
import re
import shlex
import signal
from pathlib import Path
from typing import Any

import pytest

from glassformer.cli.live import LiveView
from glassformer.prediction.model_folder import LANGUAGE_MODEL, load_model
from tests.cli.terminal import Outcome, failed, glassformer, misused
from tests.trained import review_rows, write_csv

FILES = {"README.md", "SHA256SUMS", "config.json", "metrics.json", "model.safetensors", "tokenizer.json"}
RECIPE = """
[tokenizer]
kind = "word"
min_frequency = 1
[model]
d_model = 16
n_layers = 1
n_heads = 2
d_ff = 24
max_seq_len = 16
[training]
epochs = 2
batch_size = 4
min_steps_per_epoch = 1
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Forty paragraphs, no two alike."""
    words = ("sun", "rain", "wind", "snow")
    text = "\n\n".join(f"the {words[i % 4]} came on day {i}\nand the {words[i // 4 % 4]} went" for i in range(40))
    (tmp_path / "my book.txt").write_text(text)
    return tmp_path / "my book.txt"


def pretrain(source: object, out: Path, *flags: object) -> Outcome:
    recipe = out.parent / "small.toml"
    recipe.write_text(RECIPE)
    return glassformer("pretrain", source, "--out", out, "--recipe", recipe, "--device", "cpu", *flags)


def recipe_of(out: Path) -> dict[str, Any]:
    return dict(json.loads((out / "config.json").read_text())["recipe"])


def test_from_a_text_to_a_text(book: Path, tmp_path: Path) -> None:
    out = tmp_path / "my model"
    said = pretrain(book, out, "--prompt", "the sun")
    assert said.code == 0, said.err
    assert re.fullmatch(
        rf"{out}: on held-out texts loss [\d.]+ nats per token, perplexity [\d.]+; trained in [\d.]+ s\n", said.out
    )
    for words in (
        f"data: {book}, 38 texts to train on\n",
        "  40 paragraphs (blank lines stand between them)\n",
        "  held out: 2 texts\n",
        "tokens of a word vocabulary of",
        "parameters (1 block of width 16, 2 heads, window 16 tokens), on cpu\n",
        "epoch 1: loss",
        "epoch 2: loss",
        "  it writes: the sun",
    ):
        assert words in said.err
    assert {path.name for path in out.iterdir()} == FILES
    *command, prompt = shlex.split(said.err.splitlines()[-1].removeprefix("next: "))
    assert (command, prompt) == (["glassformer", "generate", str(out)], "how it begins")
    written = glassformer(*command[1:], "the sun came", "--max-tokens", 8)
    assert written.code == 0
    assert written.out.startswith("the sun came ")


def test_json_is_one_document(book: Path, tmp_path: Path) -> None:
    document = pretrain(book, tmp_path / "m", "--json", "--set", "tokenizer.kind=byte").document
    assert list(document) == ["model", "training_seconds", "data", "best", "history"]
    assert document["model"] == str(tmp_path / "m")
    assert (document["data"]["texts"], document["data"]["validation_texts"]) == (38, 2)
    assert document["best"] in document["history"]
    assert len(document["history"]) == 2
    assert document["best"].keys() >= {"validation_loss", "validation_bits_per_byte", "train_loss"}


def test_a_table_and_a_known_data_set(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", review_rows(30), ("review", "stars"))
    said = pretrain(table, tmp_path / "m", "--text", "review")
    assert said.code == 0, said.err
    assert "held out: 2 texts" in said.err
    misused(pretrain(table, tmp_path / "n", "--text", "reviews"), "'reviews'", "review")
    said = pretrain("polarity", tmp_path / "p", "--set", "training.max_steps=3")
    assert said.code == 0, said.err
    assert load_model(tmp_path / "p", LANGUAGE_MODEL).config.data["texts"] == 3800


def test_settings_come_from_recipe_preset_and_flags(book: Path, tmp_path: Path) -> None:
    flags = ("--seed", 7, "--preset", "tiny", "--set", "model.n_layers=2", "--set", "training.epochs=1")
    assert pretrain(book, tmp_path / "m", *flags).code == 0
    recipe = recipe_of(tmp_path / "m")
    assert (recipe["training"]["seed"], recipe["training"]["epochs"], recipe["training"]["batch_size"]) == (7, 1, 4)
    assert (recipe["model"]["n_layers"], recipe["model"]["d_model"]) == (2, 16)


@pytest.mark.parametrize(
    ("flags", "attention"),
    [
        ((), "causal"),
        (("--objective", "causal"), "causal"),
        (("--objective", "masked"), "full"),
        (("--set", "model.attention=full"), "full"),
        (("--objective", "masked", "--set", "model.attention=full"), "full"),
        (("--objective", "replaced"), "full"),
    ],
)
def test_the_objective_decides_who_looks_at_whom(flags: tuple[str, ...], attention: str, book: Path) -> None:
    out = book.parent / "m"
    said = pretrain(book, out, "--set", "training.max_steps=2", *flags)
    assert said.code == 0, said.err
    assert recipe_of(out)["model"]["attention"] == attention
    assert recipe_of(out)["training"]["replaced"] == ("replaced" in flags)
    assert ("it writes" in said.err) == ("next: glassformer generate" in said.err) == (attention == "causal")


def test_a_design_of_others(book: Path, tmp_path: Path) -> None:
    flags = (
        "--set",
        "model.design=notes-language-model",
        "--set",
        "training.max_steps=2",
        "--set",
        "validation.fraction=0",
    )
    said = glassformer("pretrain", book, "--out", tmp_path / "m", "--set", "tokenizer.kind=byte", *flags)
    assert said.code == 0, said.err
    assert "nothing is held out, as the recipe says" in said.err
    assert said.out.startswith(f"{tmp_path / 'm'}: nothing was held out; trained in ")
    assert glassformer("generate", tmp_path / "m", "the", "--max-tokens", 3).code == 0


def test_few_texts_are_all_trained_on(tmp_path: Path) -> None:
    (tmp_path / "few.txt").write_text("the sun came\n" * 9)
    said = pretrain(tmp_path / "few.txt", tmp_path / "m")
    assert said.code == 0, said.err
    assert "nothing is held out: fewer than 20 texts" in said.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--objective", "prefix"], ["--objective prefix", "causal, masked, replaced"]),
        (["--objective", "causal", "--set", "model.attention=full"], ["contradicts model.attention = 'full'"]),
        (["--objective", "masked", "--set", "model.attention=causal"], ["contradicts model.attention = 'causal'"]),
        (["--objective", "masked", "--set", "training.replaced=true"], ["contradicts training.replaced = True"]),
        (["--text", "review"], ["--text review", "no columns"]),
        (["--prompt", "not\udcffutf8"], ["argument", "not UTF-8"]),
        (["--prompt", "the", "--objective", "masked"], ["--prompt", "no samples"]),
        (["--set", "model.d_modle=4"], ["d_modle", "did you mean model.d_model?"]),
        (["--set", "training.epochs=many"], ["training.epochs = 'many'"]),
        (["--set", "model.pooling=max"], ["unknown key model.pooling"]),
        (["--set", "training.label_smoothing=0.1"], ["unknown key training.label_smoothing"]),
        (["--set", "tokenizer.max_tokens=9"], ["tokenizer.max_tokens", "whole texts"]),
        (["--set", "validation.group=author"], ["leave out group, time and file"]),
        (["--preset", "giant"], ["no preset 'giant'", "tiny"]),
        (["--device", "abacus"], ["--device abacus"]),
        (["--resume"], ["no unfinished run"]),
    ],
)
def test_a_request_that_cannot_be_met(arguments: list[str], words: list[str], book: Path, tmp_path: Path) -> None:
    misused(pretrain(book, tmp_path / "model", *arguments), *words)
    assert not (tmp_path / "model").exists()


def test_the_objective_of_a_published_design_is_its_own(book: Path, tmp_path: Path) -> None:
    design = ("--set", "model.design=notes-language-model")
    said = glassformer("pretrain", book, "--out", tmp_path / "m", *design, "--objective", "masked")
    misused(said, "--objective masked contradicts model.design = 'notes-language-model'")
    said = glassformer("pretrain", book, "--out", tmp_path / "m", *design, "--preset", "tiny")
    misused(said, "preset 'tiny'", "does not go with")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["holds no text"]),
        (b"ol\xc3\xa9\n\ncaf\xe9\n", ["line 3", "not UTF-8"]),
        (b"one two three", ["do not fill one window of 16", "--set model.max_seq_len=2"]),
    ],
)
def test_a_text_that_cannot_be_learned(content: bytes, words: list[str], tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_bytes(content)
    said = pretrain(tmp_path / "text.txt", tmp_path / "model")
    misused(said, *words)
    assert not (tmp_path / "model").exists()


def test_an_earlier_run_is_not_lost(book: Path, tmp_path: Path) -> None:
    out, quick = tmp_path / "m", ("--set", "training.max_steps=2")
    assert pretrain(book, out, *quick).code == 0
    before = (out / "model.safetensors").read_bytes()
    misused(pretrain(book, out, *quick), "already holds a model", "--overwrite")
    assert (out / "model.safetensors").read_bytes() == before
    assert pretrain(book, out, *quick, "--overwrite", "--seed", 4).code == 0
    assert (out / "model.safetensors").read_bytes() != before


def test_a_diverging_run_fails_with_the_cause(book: Path, tmp_path: Path) -> None:
    flags = ("--set", "training.learning_rate=1000", "--set", "training.weight_decay=1000")
    failed(pretrain(book, tmp_path / "m", *flags), "NaN or infinite", "training.learning_rate")


def test_ctrl_c_says_how_to_resume_and_the_result_is_the_same(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "my stopped"
    assert pretrain(book, whole).code == 0
    shown = LiveView.on_step

    def interrupted(self: LiveView, report: Any) -> None:
        shown(self, report)
        if (report.epoch, report.step_of_epoch) == (2, 1):
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(LiveView, "on_step", interrupted)
        said = pretrain(book, out, "--overwrite")
    assert (said.code, said.out) == (130, "")
    assert f"stopped; the run is saved in {out}. Continue it with:" in said.err
    command = shlex.split(said.err.splitlines()[-1])
    assert command[0] == "glassformer"
    assert command[-1] == "--resume"
    assert "--overwrite" not in command
    misused(glassformer("generate", out, "the"), "unfinished run")
    misused(glassformer(*command[1:-1]), "unfinished run", "--resume", "--overwrite")
    misused(glassformer(*command[1:], "--seed", 4), "training.seed was 0 and is now 4")
    resumed = glassformer(*command[1:])
    assert resumed.code == 0, resumed.err
    assert "resumed at step" in resumed.err
    assert {path.name for path in out.iterdir()} == FILES
    assert (out / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
