import dataclasses
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from glassformer.data.documents import Documents
from glassformer.data.labels import LabelSet
from glassformer.data.sources import Sources
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.build import build_model
from glassformer.models.model_config import ModelConfig
from glassformer.models.pretrained import PretrainedConfig
from glassformer.prediction.folder_config import NewWord
from glassformer.prediction.model_folder import CLASSIFIER, LANGUAGE_MODEL, load_model
from glassformer.prediction.predictor import Predictor
from glassformer.training.initial_weights import read_initial_weights, start_from
from glassformer.training.loop import InterruptedTraining
from glassformer.training.pretrain import pretrain
from glassformer.training.recipe import Recipe, load_pretraining_recipe, load_recipe
from glassformer.training.run import train_model
from tests.checkpoints import write_checkpoint
from tests.training.samples import SMALL, Memory, opinions, recipe, table

QUICK = {"training.epochs": 1, "training.min_steps_per_epoch": 2, "training.precision": "float32",
         "validation.min_rows": 0}  # fmt: skip
# As large as gets through a step without a trace in float32 weights: what is compared is where training starts.
STILL = QUICK | {"training.learning_rate": 1e-30, "training.weight_decay": 0}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    write_checkpoint(folder, "bert", labels=("GOOD", "BAD"))
    return folder


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ours") / "model"
    train_model(Sources(train=opinions()), recipe(epochs=1), out=folder)
    return folder


def begun(name: str, **overrides: Any) -> Recipe:
    return load_recipe(overrides=STILL | overrides, init=read_initial_weights(name))


def test_a_folder_of_ours_with_the_same_labels_answers_as_before(ours: Path, tmp_path: Path) -> None:
    init = read_initial_weights(str(ours))
    listener = Memory()
    chosen = begun(str(ours))
    train_model(Sources(train=opinions(30, first=500)), chosen, out=tmp_path / "m", init=init, observer=listener)
    assert listener.messages[:1] == [f"weights: {ours}, the head too"]
    before, after = (Predictor.load(folder) for folder in (ours, tmp_path / "m"))
    texts = ["the plot of film 3 was lovely", "the cast was awful, simply awful"]
    torch.testing.assert_close(torch.tensor(after.logits(texts)), torch.tensor(before.logits(texts)))
    assert abs(before.logits(texts)).max() > 1e-3
    config = load_model(tmp_path / "m", CLASSIFIER).config
    assert config.model == load_model(ours, CLASSIFIER).config.model
    assert config.init is not None
    assert config.init["from"] == str(ours)
    assert "Fine-tuned from" in (tmp_path / "m" / "README.md").read_text()
    assert "Trained from scratch" in (ours / "README.md").read_text()


def test_other_labels_get_a_new_head_on_the_same_body(ours: Path) -> None:
    texts, labels = [f"film {number} was fine" for number in range(30)], ["x", "y", "z"] * 10
    init, listener = read_initial_weights(str(ours)), Memory()
    trained = train_model(Sources(train=table(texts, labels)), begun(str(ours)), init=init, observer=listener)
    assert listener.messages[:1] == [f"weights: {ours}, with a new head for these labels"]
    for name, tensor in trained.model.state_dict().items():
        if name.startswith("head."):
            assert tensor.shape[0] == 3
            assert tensor.abs().max() < 1e-20
        else:
            assert torch.equal(tensor, init.weights[name]), name


def test_the_head_of_a_checkpoint_follows_the_names_of_the_labels(checkpoint: Path) -> None:
    init = read_initial_weights(f"hf:{checkpoint}")
    assert init.labels == ("GOOD", "BAD")
    for names, rows in ((("bad", "good"), [1, 0]), (("BAD", "GOOD"), [1, 0]), (("a", "b"), None)):
        model = build_model(init.model, init.tokenizer.vocab_size, 2)
        said = start_from(model, init.model, init, LabelSet(names=names))
        weight = model.state_dict()["head.out_projection.weight"]
        if rows is None:
            assert said.endswith("new head for these labels")
            assert weight.eq(0).all()
        else:
            assert said.endswith("the head too")
            assert torch.equal(weight, init.weights["head.out_projection.weight"][rows])
        assert torch.equal(model.state_dict()["head.in_projection.bias"], init.weights["head.in_projection.bias"])


def test_placeholders_stand_for_the_labels_in_their_order(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, "distilbert")
    init = read_initial_weights(f"hf:{tmp_path}")
    model = build_model(init.model, init.tokenizer.vocab_size, 3)
    start_from(model, init.model, init, LabelSet(names=("a", "b", "c")))
    assert torch.equal(model.state_dict()["head.out_projection.weight"], init.weights["head.out_projection.weight"])
    several = build_model(init.model, init.tokenizer.vocab_size, 3)
    start_from(several, init.model, init, LabelSet(names=("a", "b", "c"), multilabel=True))
    assert several.state_dict()["head.out_projection.weight"].eq(0).all()


def test_a_shorter_window_takes_the_first_positions(checkpoint: Path) -> None:
    init = read_initial_weights(f"hf:{checkpoint}")
    chosen = load_recipe(overrides=STILL | {"model.max_seq_len": 17}, init=init)
    texts = ["a long film " * 20, "good", "bad", "bad film"] * 3
    trained = train_model(Sources(train=table(texts, ["good", "bad"] * 6)), chosen, init=init)
    assert torch.equal(trained.model.state_dict()["positions.weight"], init.weights["positions.weight"][:17])
    assert Predictor(trained).answer(["a long film " * 50]).probs.shape == (1, 2)


def test_a_run_that_is_resumed_keeps_what_it_learned(checkpoint: Path, tmp_path: Path) -> None:
    init = read_initial_weights(f"hf:{checkpoint}")
    settings = QUICK | {"training.epochs": 3, "training.learning_rate": 1e-3}
    chosen = load_recipe(overrides=settings, init=init)
    sources = Sources(train=opinions(24))

    def stop(step: int) -> None:
        if step == 3:
            import signal

            signal.raise_signal(signal.SIGINT)

    with pytest.raises(InterruptedTraining):
        train_model(sources, chosen, out=tmp_path / "m", init=init, observer=Memory(after_step=stop))
    with pytest.raises(UsageError, match=r"init was .* and is now not set\. Resume"):
        train_model(sources, chosen, out=tmp_path / "m", resume=True)
    listener = Memory()
    resumed = train_model(sources, chosen, out=tmp_path / "m", init=init, resume=True, observer=listener)
    assert listener.messages[0].startswith("resumed at step 4")
    whole = train_model(sources, chosen, init=init)
    for name, tensor in whole.model.state_dict().items():
        assert torch.equal(tensor, resumed.model.state_dict()[name]), name
    assert resumed.config.init == init.record


def test_the_recipe_is_that_of_the_weights(checkpoint: Path, ours: Path) -> None:
    gentle = load_recipe(init=read_initial_weights(f"hf:{checkpoint}"))
    assert isinstance(gentle.model, PretrainedConfig)
    training = gentle.training
    assert (training.optimizer, training.learning_rate, training.layer_decay) == ("adamw", 2e-5, 0.9)
    assert (training.token_dropout, gentle.model.dropout, gentle.tokenizer.kind) == (0, 0.1, "pretrained")
    chosen = load_recipe(
        overrides={"training.learning_rate": 1e-4, "model.dropout": 0.3}, init=read_initial_weights(f"hf:{checkpoint}")
    )
    assert (chosen.training.learning_rate, chosen.training.optimizer, chosen.model.model_dump()["dropout"]) == (
        1e-4, "adamw", 0.3
    )  # fmt: skip
    own = load_recipe(init=read_initial_weights(str(ours)))
    assert own.training == load_recipe().training
    assert own.model == load_model(ours, CLASSIFIER).config.model


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"preset": "tiny"}, ["preset 'tiny'", "5 blocks of width 24"]),
        ({"name_or_path": "quick"}, ["preset 'tiny'"]),
        ({"overrides": {"model.d_model": 64}}, ["model.d_model = 64", "where it is 24"]),
        ({"overrides": {"model.max_seq_len": 90}}, ["model.max_seq_len = 90", "where it is 40"]),
        ({"overrides": {"model.design": "vinh-mlp"}}, ["'vinh-mlp'", "'pretrained'"]),
        ({"overrides": {"tokenizer.kind": "word"}}, ["tokenizer.kind = 'word'", "'pretrained'"]),
        ({"overrides": {"model.width": 3}}, ["unknown key model.width"]),
    ],
    ids=str,
)
def test_a_recipe_that_contradicts_the_weights_names_both(
    checkpoint: Path, arguments: dict[str, Any], words: list[str]
) -> None:
    with pytest.raises(UsageError) as caught:
        load_recipe(**arguments, init=read_initial_weights(f"hf:{checkpoint}"))
    assert all(word in str(caught.value) for word in words)
    assert "unknown" in str(caught.value) or f"`init='hf:{checkpoint}'`" in str(caught.value)


def damage(file: str, text: str | None) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        if text is None:
            (folder / file).unlink()
        else:
            (folder / file).write_text(text)

    return spoil


def listed(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"id2label": ["good", "bad", "so so"]}))


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def indexed_elsewhere(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "../../secret.safetensors"}}))


@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (damage("config.json", None), UsageError, "holds no config.json"),
        (damage("config.json", "{"), GlassformerError, "config.json is not readable JSON"),
        (damage("config.json", "[]"), GlassformerError, "does not hold settings"),
        (damage("config.json", '{"model_type": "t5"}'), UsageError, "'t5'"),
        (damage("model.safetensors", None), UsageError, "there is no model.safetensors"),
        (damage("model.safetensors", "short"), GlassformerError, "cut short or damaged"),
        (damage("tokenizer.json", None), UsageError, "no tokenizer.json"),
        (listed, UsageError, "id2label must name labels by their numbers, got ['good'"),
        (pickled, UsageError, "pickle"),
        (indexed_elsewhere, GlassformerError, "does not name files beside it"),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(
    spoil: Callable[[Path], None], error: type[Exception], words: str, tmp_path: Path
) -> None:
    write_checkpoint(tmp_path, "bert")
    spoil(tmp_path)
    with pytest.raises(error) as caught:
        read_initial_weights(f"hf:{tmp_path}")
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["runs/none", "hf:", "hf:./none", "hf:/no/such/folder", "hf:a/b/c"])
def test_a_folder_that_is_not_there_is_not_looked_for_on_the_hub(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match=r"no such (model )?folder$|name a checkpoint|another library"):
        read_initial_weights(name)


def test_a_name_is_downloaded_without_anything_that_could_run(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}

    def snapshot_download(name: str, *, allow_patterns: list[str]) -> str:
        asked.update(name=name, patterns=allow_patterns)
        return str(checkpoint)

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=snapshot_download))
    assert read_initial_weights("hf:someone/bert").name == "hf:someone/bert"
    assert asked["name"] == "someone/bert"
    assert all(pattern.endswith((".json", ".txt", ".safetensors")) for pattern in asked["patterns"])


def test_without_the_extra_or_the_network_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match=r"\[hf\]"):
        read_initial_weights("hf:someone/bert")

    def offline(_name: str, **_options: object) -> str:
        try:
            raise type("ConnectError", (type("NetworkError", (Exception,), {}),), {})("[Errno -2] Name not known")
        except Exception as error:
            raise FileNotFoundError("Got: ConnectError: [Errno -2] Name not known\nAn error happened") from error

    def missing(_name: str, **_options: object) -> str:
        raise FileNotFoundError("404: Repository Not Found\nand more")

    for download, words in (
        (offline, r"there is no such folder, and the hub cannot be reached; correct the name, or check the network$"),
        (missing, r"neither a folder here nor to be downloaded \(404: Repository Not Found\)$"),
    ):
        monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=download))
        with pytest.raises(GlassformerError, match=words):
            read_initial_weights("hf:someone/bert")


def test_the_fingerprint_is_of_the_weights(checkpoint: Path, tmp_path: Path) -> None:
    first, again = (read_initial_weights(f"hf:{checkpoint}").record for _ in range(2))
    assert first == again
    write_checkpoint(tmp_path, "bert", labels=("GOOD", "BAD"), num_hidden_layers=4)
    assert read_initial_weights(f"hf:{tmp_path}").record["fingerprint"] != first["fingerprint"]


def test_weights_without_a_dimension_have_a_fingerprint_too(tmp_path: Path) -> None:
    model = SMALL.model_copy(update={"norm": "batch"})
    chosen = recipe(epochs=1).model_copy(update={"model": model})
    train_model(Sources(train=opinions()), chosen, out=tmp_path / "m")
    init = read_initial_weights(str(tmp_path / "m"))
    assert () in {tensor.shape for tensor in init.weights.values()}
    before = init.record["fingerprint"]
    counted = next(name for name, tensor in init.weights.items() if tensor.shape == ())
    changed = dataclasses.replace(init, weights={**init.weights, counted: init.weights[counted] + 1})
    assert changed.record["fingerprint"] != before
    half = {name: tensor.bfloat16() for name, tensor in init.weights.items()}
    assert dataclasses.replace(init, weights=half).record["fingerprint"] != before


@pytest.mark.parametrize("attention", ["causal", "full"])
def test_a_language_model_gives_its_trunk(attention: str, tmp_path: Path) -> None:
    shape = {"d_model": 12, "n_layers": 1, "n_heads": 2, "d_ff": 14, "max_seq_len": 16, "attention": attention}
    settings = {f"model.{name}": value for name, value in shape.items()}
    quick = {"training.epochs": 1, "training.min_steps_per_epoch": 2, "tokenizer.kind": "word"}
    texts = opinions().frame["text"]
    pretrain(
        Documents(texts=texts, source="reviews.txt"),
        load_pretraining_recipe(overrides=settings | quick),
        out=tmp_path / "lm",
    )
    language_model = load_model(tmp_path / "lm", LANGUAGE_MODEL)
    init, listener = read_initial_weights(str(tmp_path / "lm")), Memory()
    chosen = begun(str(tmp_path / "lm"), **{"model.pooling": "attention"})
    assert isinstance(chosen.model, ModelConfig)
    assert (chosen.model.attention, chosen.model.feed_forward) == (attention, "swiglu")
    trained = train_model(Sources(train=opinions(30, first=500)), chosen, init=init, observer=listener)
    assert listener.messages[:1] == [f"weights: {tmp_path / 'lm'}, with a new head for these labels"]
    assert trained.tokenizer.vocabulary() == language_model.tokenizer.vocabulary()
    found = trained.model.state_dict()
    for name, tensor in language_model.model.state_dict().items():
        torch.testing.assert_close(found[name], tensor)


def test_the_notes_language_model_has_no_trunk_to_give(tmp_path: Path) -> None:
    overrides = {"model.design": "notes-language-model", "model.emb_dim": 8, "model.max_seq_len": 8,
                 "training.epochs": 1, "training.min_steps_per_epoch": 1}  # fmt: skip
    pretrain(
        Documents(texts=opinions().frame["text"], source="reviews.txt"),
        load_pretraining_recipe(overrides=overrides),
        out=tmp_path / "lm",
    )
    with pytest.raises(UsageError, match="no trunk that a classifier could start from"):
        read_initial_weights(str(tmp_path / "lm"))


@pytest.mark.usefixtures("unsealed")
def test_what_was_learned_from_definitions_stays_on_record(ours: Path, tmp_path: Path) -> None:
    word = NewWord(word="lovely", definition="very good", source="given", method="average")
    shutil.copytree(ours, tmp_path / "taught")
    file = tmp_path / "taught" / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"new_words": [word.model_dump()]}), encoding="utf-8")
    init = read_initial_weights(str(tmp_path / "taught"))
    trained = train_model(Sources(train=opinions(30, first=500)), begun(str(ours)), init=init)
    assert trained.config.new_words == (word,)
