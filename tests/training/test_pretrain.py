import json
import math
import random
from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from packaging.version import Version
from safetensors.torch import load_file

from glassformer.data.documents import Documents
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.build import build_language_model
from glassformer.models.published.notes_decoder import NotesLanguageModel
from glassformer.prediction.folder_format import is_model_folder
from glassformer.prediction.generation import TextGenerator
from glassformer.prediction.model_folder import LANGUAGE_MODEL, TrainedLanguageModel, load_model
from glassformer.prediction.sampling import SamplingConfig
from glassformer.training import pretrain as pretrain_module
from glassformer.training.language_modelling import token_cost
from glassformer.training.loop import InterruptedTraining, NotANumberError
from glassformer.training.pretrain import PreparedTexts, begins_word, figures_in_words, pretrain
from glassformer.training.recipe import PretrainingRecipe
from tests.cli.terminal import failed
from tests.running import Running
from tests.support import unchecked_shapes
from tests.training.samples import Memory
from tests.training.test_resume import figures, interrupt_after

COLOURS = ("red", "green", "blue", "black", "white")
WINDOW = 16


def counting(n_texts: int = 60) -> Documents:
    """A tiny language: colours in an order that never changes, after a number that makes each text another one."""
    draw = random.Random(4)
    texts = []
    for number in range(n_texts):
        first, digits = draw.randrange(5), [("zero", "one")[int(digit)] for digit in f"{number:08b}"]
        texts.append(" ".join(digits + [COLOURS[(first + i) % 5] for i in range(draw.randrange(12, 20))]))
    return Documents(texts=pl.Series(texts), source="colours.txt", notes=("so many lines",))


def sentences(n_texts: int = 40, *, first: int = 0) -> Documents:
    """No two alike."""
    texts = [f"The {COLOURS[number % 5]} café no. {first + number} was lovely." for number in range(n_texts)]
    return Documents(texts=pl.Series(texts), source="notes.txt")


def recipe(
    *,
    model: dict[str, Any] | None = None,
    tokenizer: dict[str, Any] | None = None,
    validation: dict[str, Any] | None = None,
    **training: Any,
) -> PretrainingRecipe:
    sizes = {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 24, "max_seq_len": WINDOW}
    defaults = {
        "epochs": 2,
        "batch_size": 4,
        "min_steps_per_epoch": 1,
        "optimizer": "adamw",
        "learning_rate": 0.01,
        "precision": "float32",
    }
    return PretrainingRecipe.model_validate(
        {
            "model": sizes if model is None else model,
            "tokenizer": {"kind": "word", "min_frequency": 1} if tokenizer is None else tokenizer,
            "validation": {"fraction": 0.2, "min_rows": 0} if validation is None else validation,
            "training": defaults | training,
        }
    )


def small(**values: Any) -> dict[str, Any]:
    return {"d_model": 16, "n_layers": 1, "n_heads": 2, "d_ff": 24, "max_seq_len": WINDOW} | values


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(tensor, other[name]) for name, tensor in one.items())


# What a run leaves


def test_a_run_leaves_a_whole_model_folder(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "one"
    chosen = recipe(epochs=3)
    trained = pretrain(counting(), chosen, out=out)
    assert {path.name for path in out.iterdir()} == {
        "README.md",
        "SHA256SUMS",
        "config.json",
        "metrics.json",
        "model.safetensors",
        "tokenizer.json",
    }
    loaded = load_model(out, LANGUAGE_MODEL)
    assert loaded.config == trained.config
    assert loaded.config.recipe == chosen.model_dump(mode="json")
    assert equal(dict(trained.model.state_dict()), weights(out))
    assert (trained.model.training, loaded.model.training) == (False, False)
    best = json.loads((out / "metrics.json").read_text())["best"]
    assert best["epoch"] == loaded.metrics["best_epoch"]
    assert best["validation_loss"] == min(row["validation_loss"] for row in loaded.metrics["history"])
    assert [row["epoch"] for row in loaded.metrics["history"]] == [1, 2, 3]
    (one,) = TextGenerator.load(out).complete(["red"], SamplingConfig(max_tokens=6))
    assert 1 <= len(one.token_ids) <= 6


def test_the_card_says_what_the_model_is(tmp_path: Path) -> None:
    heard: list[PreparedTexts] = []
    trained = pretrain(counting(), recipe(), out=tmp_path, on_prepared=heard.append)
    card, data = (tmp_path / "README.md").read_text(), trained.config.data
    for words in (
        "It continues a text.",
        f"{data['texts']} texts of `colours.txt` ({data['bytes']:,} bytes)",
        f"{sum(parameter.numel() for parameter in trained.model.parameters()):,} parameters: 1 block of width 16",
        "word vocabulary of 10; window of 16 tokens",
        f"On 12 held-out texts: {figures_in_words(trained.metrics['best'])}",
        data["fingerprint"],
    ):
        assert words in card
    assert data["notes"][0] == "so many lines"
    assert (data["bytes"], data["fingerprint"]) == (heard[0].train.n_bytes, heard[0].train.fingerprint)


def test_without_held_out_texts_the_card_claims_nothing(tmp_path: Path) -> None:
    trained = pretrain(counting(), recipe(validation={"fraction": 0}), out=tmp_path)
    assert "No texts were held out" in (tmp_path / "README.md").read_text()
    assert (trained.metrics["best_epoch"], trained.config.data["validation_texts"]) == (2, 0)
    assert "validation_loss" not in trained.metrics["best"]


def test_overwriting_replaces_the_model(tmp_path: Path) -> None:
    pretrain(sentences(), recipe(epochs=1), out=tmp_path)
    with pytest.raises(UsageError, match="already holds a model"):
        pretrain(sentences(30), recipe(epochs=1), out=tmp_path)
    pretrain(sentences(30), recipe(epochs=1), out=tmp_path, overwrite=True)
    assert load_model(tmp_path, LANGUAGE_MODEL).config.data["texts"] == 24


def test_the_caller_hears_of_texts_and_sizes(tmp_path: Path) -> None:
    heard: list[PreparedTexts] = []
    chosen = recipe(tokenizer={"kind": "word", "min_frequency": 5}, epochs=1)
    trained = pretrain(sentences(), chosen, out=tmp_path, on_prepared=heard.append)
    (prepared,) = heard
    assert prepared.validation is not None
    assert (len(prepared.train.texts), len(prepared.validation.texts)) == (32, 8)
    assert prepared.tokens == 32 * 9  # the red café no . 7 was lovely .
    assert prepared.vocab_size == trained.tokenizer.vocab_size
    assert prepared.parameters == sum(parameter.numel() for parameter in trained.model.parameters())
    assert prepared.unknown == pytest.approx(1 / 9)


# The same run


def test_equal_seeds_give_equal_weights(tmp_path: Path) -> None:
    for name, seed in (("one", 3), ("same", 3)):
        pretrain(counting(), recipe(seed=seed), out=tmp_path / name)
    assert equal(weights(tmp_path / "one"), weights(tmp_path / "same"))


def test_the_seed_decides_the_first_weights(tmp_path: Path) -> None:
    for seed in (3, 4):
        pretrain(counting(), recipe(seed=seed, max_steps=1, learning_rate=1e-12), out=tmp_path / str(seed))
    one, other = (weights(tmp_path / name)["trunk.embedding.weight"] for name in ("3", "4"))
    assert (one - other).abs().max() > 0.01


@cache
def whole_run(attention: str) -> TrainedLanguageModel:
    """A run that nothing stopped."""
    return pretrain(counting(), resumable(attention))


def resumable(attention: str) -> PretrainingRecipe:
    return recipe(model=small(attention=attention, dropout=0.2), epochs=3, accumulation=2)


@pytest.mark.parametrize("attention", ["causal", "full"])
@pytest.mark.parametrize("step", [1, 9, 13], ids=["first step", "end of an epoch", "mid-epoch"])
def test_interrupted_and_resumed_is_uninterrupted(attention: str, step: int, tmp_path: Path) -> None:
    chosen, whole = resumable(attention), whole_run(attention)
    assert whole.metrics["history"][0]["step"] == 9
    out = tmp_path / "out"
    with pytest.raises(InterruptedTraining):
        pretrain(counting(), chosen, out=out, observer=interrupt_after(step))
    with pytest.raises(UsageError, match="unfinished run"):
        load_model(out, LANGUAGE_MODEL)
    memory = Memory()
    resumed = pretrain(counting(), chosen, out=out, resume=True, observer=memory)
    assert memory.messages[0].startswith(f"resumed at step {step + 1} ")
    assert figures(resumed.metrics["history"]) == figures(whole.metrics["history"])
    assert equal(weights(out), dict(whole.model.state_dict()))
    assert not (out / "checkpoint").exists()


@pytest.mark.parametrize("lost", ["state.safetensors", "tokenizer.json", "train/store.json"])
def test_a_run_killed_early_is_resumed_from_what_is_there(lost: str, tmp_path: Path) -> None:
    chosen, whole = resumable("causal"), whole_run("causal")
    with pytest.raises(InterruptedTraining):
        pretrain(counting(), chosen, out=tmp_path / "out", observer=interrupt_after(3))
    (tmp_path / "out" / "checkpoint" / lost).unlink()
    resumed = pretrain(counting(), chosen, out=tmp_path / "out", resume=True)
    assert figures(resumed.metrics["history"]) == figures(whole.metrics["history"])


@pytest.mark.parametrize(
    ("texts", "values", "changed"),
    [
        (60, {"learning_rate": 0.5}, r"training\.learning_rate was 0\.01 and is now 0\.5\."),
        (58, {}, "the training texts changed"),
    ],
)
def test_other_texts_or_another_recipe_cannot_resume(
    texts: int, values: dict[str, Any], changed: str, tmp_path: Path
) -> None:
    with pytest.raises(InterruptedTraining):
        pretrain(counting(), recipe(), out=tmp_path, observer=interrupt_after(3))
    with pytest.raises(UsageError, match=f"`resume=True`: this run began with other data or settings: {changed}"):
        pretrain(counting(texts), recipe(**values), out=tmp_path, resume=True)
    pretrain(counting(), recipe(), out=tmp_path, resume=True)


# What is learned


def unigram_entropy(texts: pl.Series) -> float:
    counts = Counter(word for text in texts for word in [*text.split(), "the end"])
    total = sum(counts.values())
    return -sum(count / total * math.log(count / total) for count in counts.values())


def test_a_tiny_language_is_learned(tmp_path: Path) -> None:
    texts = counting(150)
    trained = pretrain(texts, recipe(epochs=3, learning_rate=0.02), out=tmp_path)
    assert unigram_entropy(texts.texts) > 2
    assert trained.metrics["best"]["validation_loss"] < 0.6, "of which 0.23 are of digits that nothing foretells"
    assert trained.metrics["best"]["train_loss"] < 0.6
    (one,) = TextGenerator.load(tmp_path).complete(["black white"], SamplingConfig(max_tokens=4, temperature=0))
    assert one.text == " red green blue black"


def test_a_tiny_language_is_filled_in(tmp_path: Path) -> None:
    chosen = recipe(model=small(attention="full", dropout=0.0), epochs=6, learning_rate=0.02, optimizer="muon")
    trained = pretrain(counting(150), chosen, out=tmp_path)
    assert trained.metrics["best"]["validation_loss"] < 0.9, "1.3 is what the place alone tells"
    assert not trained.model.training
    assert "It fills in hidden tokens of a text." in (tmp_path / "README.md").read_text()


def test_whole_words_are_hidden_where_asked(tmp_path: Path) -> None:
    for name, whole_words in (("pieces", False), ("words", True)):
        chosen = recipe(model=small(attention="full"), tokenizer={"kind": "byte"}, epochs=1, whole_words=whole_words)
        pretrain(sentences(), chosen, out=tmp_path / name)
    assert not equal(weights(tmp_path / "pieces"), weights(tmp_path / "words"))


@pytest.mark.parametrize("kind", ["word", "character", "byte", "bpe", "wordpiece", "unigram"])
def test_every_vocabulary_makes_a_model_that_writes(kind: str, tmp_path: Path) -> None:
    trained = pretrain(sentences(), recipe(tokenizer={"kind": kind, "vocab_size": 300}, epochs=1), out=tmp_path)
    spells = kind in ("byte", "bpe")
    assert ("validation_bits_per_byte" in trained.metrics["best"]) == spells
    (one,) = TextGenerator.load(tmp_path).complete(["The red"], SamplingConfig(max_tokens=5))
    assert one.ended in ("end", "length")


@pytest.mark.parametrize("changed", [{"lowercase": True}, {"normalization": "nfc"}, {"strip_accents": True}])
def test_no_bits_per_byte_where_bytes_are_lost(changed: dict[str, Any], tmp_path: Path) -> None:
    trained = pretrain(sentences(), recipe(tokenizer={"kind": "byte"} | changed, epochs=1), out=tmp_path)
    assert "validation_bits_per_byte" not in trained.metrics["best"]


def test_bits_per_byte_are_of_the_held_out_bytes(tmp_path: Path) -> None:
    heard: list[PreparedTexts] = []
    trained = pretrain(
        sentences(), recipe(tokenizer={"kind": "byte"}, epochs=1), out=tmp_path, on_prepared=heard.append
    )
    held_out = heard[0].validation
    assert held_out is not None
    tokens = held_out.n_bytes + len(held_out.texts)
    best = trained.metrics["best"]
    expected = best["validation_loss"] * tokens / held_out.n_bytes / math.log(2)
    assert best["validation_bits_per_byte"] == pytest.approx(expected)


def test_what_equals_a_held_out_text_is_not_trained_on(tmp_path: Path) -> None:
    once = sentences(20)
    twice = Documents(texts=pl.concat([once.texts, once.texts + " "]), source="notes.txt")
    heard: list[PreparedTexts] = []
    trained = pretrain(twice, recipe(epochs=1), out=tmp_path, on_prepared=heard.append)
    (prepared,) = heard
    assert prepared.validation is not None
    held_out = set(prepared.validation.texts.str.strip_chars())
    assert held_out.isdisjoint(prepared.train.texts.str.strip_chars())
    numbers = {text.split()[4] for text in held_out}  # of the cafés, words that only they have
    assert numbers.isdisjoint(trained.tokenizer.vocabulary()), "the vocabulary is of the training texts alone"
    assert trained.config.data["texts"] == len(prepared.train.texts)
    assert any("equal to a held-out text" in note for note in trained.config.data["notes"])


def test_the_design_of_the_notes(tmp_path: Path) -> None:
    notes = {"design": "notes-language-model", "emb_dim": 12, "num_heads": 3, "n_layers": 1, "max_seq_len": WINDOW}
    chosen = recipe(model=notes, epochs=4, min_steps_per_epoch=20, optimizer="muon")
    trained = pretrain(counting(150), chosen, out=tmp_path)
    assert isinstance(trained.model, NotesLanguageModel)
    assert trained.metrics["best"]["validation_loss"] < 1.2
    assert "the notes' decoder, 1 block of width 12" in (tmp_path / "README.md").read_text()
    (one,) = TextGenerator.load(tmp_path).complete(["red"], SamplingConfig(max_tokens=40))
    assert one.ended is not None


COMPILED = """
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
compile = true
epochs = 1
precision = "float32"
"""


@pytest.mark.slow
@pytest.mark.skipif(Version(torch.__version__) < Version("2.10"), reason="torch 2.9 makes two graphs of the step")
def test_compiled_losses_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph of the step and its derivatives are ours. Turning them into C++ is not."""
    compiled: list[Any] = []
    through_graphs = partial(torch.compile, backend="aot_eager", fullgraph=True)

    def compile_step(step: Any) -> Any:
        compiled.append(step)
        return through_graphs(step)

    monkeypatch.setattr(torch, "compile", compile_step)
    model = small(dropout=0.0)
    plain = pretrain(counting(), recipe(model=model), out=tmp_path / "plain")
    assert not compiled
    with unchecked_shapes():
        found = pretrain(counting(), recipe(model=model, compile=True), out=tmp_path / "compiled")
    assert compiled == [token_cost]
    for row, other in zip(found.metrics["history"], plain.metrics["history"], strict=True):
        for name in ("train_loss", "validation_loss"):
            assert row[name] == pytest.approx(other[name], rel=1e-4)


@pytest.mark.slow
def test_without_a_compiler_it_says_so(tmp_path: Path) -> None:
    """In a process of its own, where nothing checks shapes."""
    texts, settings = tmp_path / "colours.txt", tmp_path / "compiled.toml"
    texts.write_text("\n".join(counting().texts))
    settings.write_text(COMPILED)
    nowhere = {"PATH": "/nonexistent", "CXX": "/nonexistent/g++", "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    given = ("pretrain", texts, "--recipe", settings, "--out", tmp_path / "out", "--device", "cpu")
    failed(
        Running("-m", "glassformer", *given, log=tmp_path / "log", environment=nowhere).outcome(),
        "training.compile: the step could not be compiled",
        "leave training.compile out",
    )


# Samples


def test_a_sample_after_each_epoch_begins_with_the_prompt(tmp_path: Path) -> None:
    memory, other = Memory(), Memory()
    pretrain(counting(), recipe(), out=tmp_path / "one", observer=memory, prompt="red green")
    assert len(memory.messages) == len(memory.epochs) == 2
    assert all(message.startswith("  it writes: red green") for message in memory.messages)
    assert all("\n" not in message for message in memory.messages)
    pretrain(counting(), recipe(), out=tmp_path / "other", observer=other)
    assert equal(weights(tmp_path / "one"), weights(tmp_path / "other")), "samples must not move training"


def test_a_sample_goes_on_from_the_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts: list[Any] = []
    complete = TextGenerator.complete

    def watched(self: TextGenerator, given: list[str], config: SamplingConfig) -> Any:
        prompts.append(given)
        return complete(self, given, config)

    monkeypatch.setattr(TextGenerator, "complete", watched)
    pretrain(counting(), recipe(), out=tmp_path, prompt="red green")
    assert prompts == [["red green"]] * 2


def test_what_fills_in_writes_no_samples(tmp_path: Path) -> None:
    memory = Memory()
    pretrain(counting(), recipe(model=small(attention="full")), out=tmp_path, observer=memory)
    assert (len(memory.epochs), memory.messages) == (2, [])


# What goes wrong


def diverging(monkeypatch: pytest.MonkeyPatch, step: int) -> Memory:
    """An observer that makes a weight NaN after a step."""
    models: list[Any] = []
    build = build_language_model

    def watched(*arguments: Any) -> Any:
        models.append(build(*arguments))
        return models[-1]

    def poison(done: int) -> None:
        if done == step:
            with torch.no_grad():
                models[-1].get_parameter("trunk.norm.weight")[0] = float("nan")

    monkeypatch.setattr(pretrain_module, "build_language_model", watched)
    return Memory(poison)


def test_not_a_number_leaves_the_best_model_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    observer = diverging(monkeypatch, 23)  # in the second epoch of eighteen steps
    with pytest.raises(NotANumberError, match=f"norm.weight .* The model of epoch 1, .* is in {tmp_path}"):
        pretrain(counting(), recipe(epochs=4), out=tmp_path, observer=observer)
    loaded = load_model(tmp_path, LANGUAGE_MODEL)
    assert loaded.metrics["best_epoch"] == 1
    assert all(tensor.isfinite().all() for tensor in loaded.model.state_dict().values())
    assert not (tmp_path / "checkpoint").exists()


def test_not_a_number_before_any_epoch_leaves_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotANumberError, match="after step 2"):
        pretrain(counting(), recipe(), out=tmp_path, observer=diverging(monkeypatch, 2))
    with pytest.raises(GlassformerError):
        load_model(tmp_path, LANGUAGE_MODEL)


def test_a_sample_that_fails_is_no_end_of_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without held-out texts a sample is the first to see what the last step of an epoch did."""
    whole = recipe(validation={"fraction": 0})
    steps = len(pretrained_steps(whole, tmp_path / "whole"))
    observer = diverging(monkeypatch, steps)
    with pytest.raises(NotANumberError, match=r"training\.learning_rate"):
        pretrain(counting(), whole, out=tmp_path / "out", observer=observer)
    assert any("it cannot write: the model gives NaN or infinite logits" in message for message in observer.messages)
    assert not is_model_folder(tmp_path / "out")  # the weights of that epoch are no model


def pretrained_steps(chosen: PretrainingRecipe, out: Path) -> range:
    """The steps of the first epoch."""
    return range(int(pretrain(counting(), chosen, out=out).metrics["history"][0]["step"]))


def test_a_refused_run_leaves_nothing_to_resume(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="do not fill one window"):
        pretrain(counting(2), recipe(model=small(max_seq_len=64)), out=tmp_path / "out")
    assert not (tmp_path / "out" / "checkpoint").exists()
    pretrain(counting(), recipe(epochs=1), out=tmp_path / "out")


def test_a_wrong_split_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave out group, time and file"):
        pretrain(counting(), recipe(validation={"group": "author"}), out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


# In words


def test_figures_in_words() -> None:
    assert figures_in_words({"validation_loss": math.log(20.26)}) == "loss 3.0086 nats per token, perplexity 20.3"
    assert figures_in_words({"validation_loss": 9.0, "validation_bits_per_byte": 1.25}) == (
        "loss 9.0000 nats per token, perplexity 8,103.1, 1.2500 bits per byte"
    )
    assert figures_in_words({"validation_loss": 2000.0}) == "loss 2000.0000 nats per token"


@pytest.mark.parametrize(
    ("kind", "text", "beginnings"),
    [
        ("word", "one, two", ["one", ",", "two"]),
        ("wordpiece", "one, two", ["o", ",", "t"]),
        ("character", "one two", [" "]),
        ("byte", "one\ttwo\nsix\rten", ["ĉ", "Ċ", "č"]),
        ("bpe", "one two\tsix\nten\rone", ["Ġ", "ĉ", "Ċ", "č"]),
        ("unigram", "one two", ["▁", "▁"]),
    ],
)
def test_which_tokens_begin_a_word(kind: str, text: str, beginnings: list[str]) -> None:
    size = {"wordpiece": 13, "bpe": 259, "unigram": 12}.get(kind, 300)
    config = TokenizerConfig.model_validate({"kind": kind, "vocab_size": size, "min_frequency": 1, "lowercase": False})
    tokenizer = TextTokenizer.train([text], config)
    found = begins_word(tokenizer, kind)
    assert found.dtype == np.bool_
    assert found.shape == (tokenizer.vocab_size,)
    inverse = {id_: token for token, id_ in tokenizer.vocabulary().items()}
    (ids,) = tokenizer.encode([text])
    assert [inverse[id_] for id_ in ids if found[id_]] == beginnings
