import json
import shutil
import signal
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from glassformer.data.checksums import replace_file, sha256_of
from glassformer.data.sources import SourceConfig, Sources, read_sources
from glassformer.data.tokenizers import TextTokenizer
from glassformer.errors import GlassformerError, UsageError
from glassformer.prediction.model_folder import CLASSIFIER, load_model
from glassformer.prediction.verify import verify
from glassformer.targets.labels.target import labels_of
from glassformer.training import loop
from glassformer.training.checkpoint import RunState
from glassformer.training.loop import InterruptedTraining, Trainer
from glassformer.training.recipe import load_recipe
from glassformer.training.run import train_model
from glassformer.training.training_config import TrainingConfig
from glassformer.training.unfinished import encode
from tests.bodies import SMALL
from tests.checkpoints import write_checkpoint
from tests.running import Running
from tests.support import flipped
from tests.training.samples import Memory, config, opinions, recipe, toy_data, trainer


@pytest.fixture(autouse=True, scope="module")
def quick() -> None:
    """Readers choose as those of the command do, which runs in another process."""


def figures(history: list[dict[str, float]]) -> list[list[float]]:
    """Everything but the seconds."""
    return [[value for name, value in sorted(row.items()) if name != "seconds"] for row in history]


def interrupt_after(step: int) -> Memory:
    return Memory(lambda done: signal.raise_signal(signal.SIGINT) if done == step else None)


def assert_same_end(one: Trainer[Any], other: Trainer[Any]) -> None:
    assert figures(one.state.history) == figures(other.state.history)
    assert one.state.best_epoch == other.state.best_epoch
    others = other.model.state_dict()
    for name, tensor in one.model.state_dict().items():
        assert torch.equal(tensor, others[name]), name


def with_patience(optimizer: str) -> TrainingConfig:
    return config(epochs=4, optimizer=optimizer, learning_rate=0.02, token_dropout=0.2, patience=2)


@cache
def uninterrupted_by(optimizer: str) -> Trainer[Any]:
    run = trainer(with_patience(optimizer))
    run.run()
    return run


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
@pytest.mark.parametrize("step", [1, 7, 10, 14], ids=["first step", "mid-epoch", "end of an epoch", "after the best"])
def test_interrupted_and_resumed_is_uninterrupted(optimizer: str, step: int, tmp_path: Path) -> None:
    training, uninterrupted = with_patience(optimizer), uninterrupted_by(optimizer)
    assert uninterrupted.state.history[0]["step"] == 5

    file = tmp_path / "state.safetensors"
    with pytest.raises(InterruptedTraining):
        trainer(training, checkpoint=file, observer=interrupt_after(step)).run()
    resumed = trainer(training, checkpoint=file)
    resumed.resume()
    assert resumed.state.step == step
    resumed.run()
    assert_same_end(resumed, uninterrupted)


@pytest.mark.parametrize("resample", ["none", "balanced"])
def test_resumed_several_times_is_uninterrupted(resample: str, tmp_path: Path) -> None:
    training = config(epochs=3, accumulation=2, resample=resample)
    data = toy_data(n_validation=0)
    data = replace(data, train_labels=np.minimum(data.train_labels, 1))  # one class is rarer
    uninterrupted = trainer(training, data=data)
    uninterrupted.run()
    file, attempts = tmp_path / "state.safetensors", 0
    while True:
        run = trainer(training, data=data, checkpoint=file, observer=interrupt_after(2))
        if file.is_file():
            run.resume()
        try:
            run.run()
            break
        except InterruptedTraining:
            attempts += 1
    assert attempts > 2
    weights = uninterrupted.model.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in run.model.state_dict().items())


def test_a_run_is_saved_by_the_clock_across_epochs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved: list[int] = []
    clock = iter(range(0, 100_000, 4))  # every look at the clock finds it four seconds on
    monkeypatch.setattr("glassformer.training.loop.time.perf_counter", lambda: float(next(clock)))
    monkeypatch.setattr(loop, "save_checkpoint", lambda _path, state, *_: saved.append(state.step))
    trainer(config(epochs=9, batch_size=47), checkpoint=tmp_path / "state.safetensors").run()
    assert 2 <= len(saved) <= 5  # epochs of one step, which takes less than half a minute


def test_micro_batches_survive(tmp_path: Path) -> None:
    file = tmp_path / "state.safetensors"
    run = trainer(config(), checkpoint=file, observer=interrupt_after(2))
    run.state.micro_batches = 4
    with pytest.raises(InterruptedTraining):
        run.run()
    again = trainer(config(), checkpoint=file)
    again.resume()
    assert again.state.micro_batches == 4
    assert isinstance(again.state, RunState)


@pytest.mark.parametrize("damage", ["cut", "empty", "not ours", "another model"])
def test_a_damaged_checkpoint_is_one_sentence(damage: str, tmp_path: Path) -> None:
    file = tmp_path / "state.safetensors"
    with pytest.raises(InterruptedTraining):
        trainer(config(), checkpoint=file, observer=interrupt_after(2)).run()
    content = file.read_bytes()
    if damage == "another model":
        other = config(optimizer="muon")
        run = trainer(other, checkpoint=file)
        run.model.head = torch.nn.Linear(16, 5)
    else:
        file.write_bytes({"cut": content[:-30], "empty": b"", "not ours": b"\x00" * 500}[damage])
        run = trainer(config(), checkpoint=file)
    with pytest.raises(GlassformerError, match=r"state\.safetensors cannot be resumed .*`overwrite=True`"):
        run.resume()


SMALL_RUN = """
[validation]
fraction = 0.2
min_rows = 0
[model]
preset = "tiny"
d_model = 16
n_layers = 1
n_heads = 2
d_ff = 24
max_seq_len = 24
body = "{body}"
[training]
epochs = 3
batch_size = 10
min_steps_per_epoch = 1
"""

KILLED = """
import os, signal, sys
from glassformer.training import loop
loop._CHECKPOINT_SECONDS = 0.0
save, step = loop.save_checkpoint, loop.Trainer._step
def killed_step(self, batches):
    if self.state.step == {kill_at}:
        os.kill(os.getpid(), signal.SIGKILL)
    step(self, batches)
loop.Trainer._step = killed_step
from glassformer.cli.main import main
sys.argv[0] = "glassformer"
main()
"""


@pytest.mark.slow
def test_killed_and_resumed_from_the_command_line_is_uninterrupted(tmp_path: Path) -> None:
    table, small = tmp_path / "reviews.csv", tmp_path / "small.toml"
    opinions().frame.select("text", "label").write_csv(table)
    small.write_text(SMALL_RUN.format(body=SMALL))
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    arguments = ["train", str(table), "--recipe", str(small), "--device", "cpu", "--out", str(killed)]

    first = Running("-c", KILLED.format(kill_at=8), *arguments, log=tmp_path / "log").outcome()
    assert first.code == -signal.SIGKILL, first.err
    assert not (killed / "config.json").exists()
    second = Running("-m", "glassformer", *arguments, "--resume", log=tmp_path / "log").outcome()
    assert second.code == 0, second.err
    assert "resumed at step 9" in second.err

    source = SourceConfig(train=str(table))
    uninterrupted = load_recipe(str(small))
    train_model(read_sources(source, uninterrupted.validation, None), uninterrupted, source=source, out=whole)
    for name in ("model.safetensors", "tokenizer.json"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()
    one, other = load_model(killed, CLASSIFIER), load_model(whole, CLASSIFIER)
    assert figures(one.metrics["history"]) == figures(other.metrics["history"])
    assert labels_of(one.config.target).temperature == labels_of(other.config.target).temperature


def interrupted(out: Path, **values: Any) -> None:
    with pytest.raises(InterruptedTraining):
        train_model(Sources(train=opinions()), recipe(**values), out=out, observer=interrupt_after(3))


def test_a_run_is_resumed_where_it_stopped(tmp_path: Path) -> None:
    whole = train_model(Sources(train=opinions()), recipe(), out=tmp_path / "whole")
    interrupted(tmp_path / "out")
    memory = Memory()
    resumed = train_model(Sources(train=opinions()), recipe(), out=tmp_path / "out", resume=True, observer=memory)
    assert memory.messages[:1] == ["resumed at step 4 (epoch 1)"]
    assert figures(resumed.metrics["history"]) == figures(whole.metrics["history"])
    ends = [load_file(tmp_path / out / "model.safetensors") for out in ("whole", "out")]
    assert all(torch.equal(tensor, ends[1][name]) for name, tensor in ends[0].items())
    assert (
        labels_of(load_model(tmp_path / "out", CLASSIFIER).config.target).temperature
        == labels_of(whole.config.target).temperature
    )
    assert not (tmp_path / "out" / "checkpoint").exists()


@pytest.mark.parametrize(
    ("values", "rows", "changed"),
    [
        ({"learning_rate": 0.5}, 60, r"training\.learning_rate was 0\.001 and is now 0\.5\. Resume"),
        (
            {"epochs": 5, "clip": 2.0},
            60,
            r"training\.clip was 1\.0 and is now 2\.0; training\.epochs was 2 and is now 5\.",
        ),
        (
            {"epochs": 5, "clip": 2.0, "patience": 7, "seed": 3, "warmup": 0.2, "weight_decay": 0.5},
            60,
            r"training\.clip was .*; training\.warmup was 0\.05 and is now 0\.2; and \d more\. Resume",
        ),
        ({}, 58, r"the training rows changed; the validation rows changed\."),
    ],
    ids=["recipe", "two keys", "many keys", "data"],
)
def test_another_recipe_or_other_data_cannot_resume(
    values: dict[str, Any], rows: int, changed: str, tmp_path: Path
) -> None:
    interrupted(tmp_path)
    before = (tmp_path / "checkpoint" / "state.safetensors").read_bytes()
    with pytest.raises(UsageError, match=f"`resume=True`: this run began with other data or settings: {changed}"):
        train_model(Sources(train=opinions(rows)), recipe(**values), out=tmp_path, resume=True)
    assert (tmp_path / "checkpoint" / "state.safetensors").read_bytes() == before


def test_a_setting_that_a_later_version_added_is_no_change(tmp_path: Path) -> None:
    interrupted(tmp_path)
    file = tmp_path / "checkpoint" / "run.json"
    begun = json.loads(file.read_text())
    del begun["recipe"]["training"]["costs"], begun["recipe"]["training"]["clip"]
    replace_file(file.parent, file.name, json.dumps(begun))
    train_model(Sources(train=opinions()), recipe(), out=tmp_path, resume=True)


def test_a_run_without_an_order_is_not_resumed_with_one(tmp_path: Path) -> None:
    interrupted(tmp_path)
    ordered = replace(opinions(), order=("bad", "good"))
    with pytest.raises(UsageError, match="order was not set and is now 'bad < good'"):
        train_model(Sources(train=ordered), recipe(), out=tmp_path, resume=True)


def test_a_run_is_not_resumed_with_groups_that_it_began_without(tmp_path: Path) -> None:
    interrupted(tmp_path)
    rows = opinions()
    grouped = replace(rows, frame=rows.frame.with_columns(group=rows.frame["text"]))
    with pytest.raises(UsageError, match=r"the groups of the training rows \(new\)"):
        train_model(Sources(train=grouped), recipe(), out=tmp_path, resume=True)


@pytest.mark.parametrize("kind", ["body", "encoder"])
def test_the_files_of_a_body_may_be_gone_but_not_change(kind: str, tmp_path: Path) -> None:
    files, out = tmp_path / "files", tmp_path / "out"
    if kind == "body":
        shutil.copytree(SMALL, files)
    else:
        write_checkpoint(files, "bert", "Model", num_hidden_layers=1)
    body = str(files) if kind == "body" else f"hf:{files}"
    given = recipe()
    given = given.model_copy(update={"model": given.model.model_copy(update={"body": body})})
    with pytest.raises(InterruptedTraining):
        train_model(Sources(train=opinions()), given, out=out, observer=interrupt_after(3))
    (name,) = files.glob("config.json") if kind == "encoder" else files.glob("body.json")
    before = name.read_text()
    name.write_text(f"{before} ")
    with pytest.raises(UsageError, match=f"other data or settings: the files of the {kind} changed. Resume"):
        train_model(Sources(train=opinions()), given, out=out, resume=True)
    name.write_text(before)
    shutil.rmtree(files)
    if kind == "body":
        with pytest.raises(UsageError, match="there is no body"):
            train_model(Sources(train=opinions()), given, out=out, overwrite=True)
    resumed = train_model(Sources(train=opinions()), given, out=out, resume=True)
    assert list(resumed.readers) == [kind]


@pytest.mark.parametrize("record", ['{"train": ', "[]", "[" * 100_000, None], ids=["cut", "list", "nested", "lost"])
def test_a_damaged_record_of_the_run_is_one_sentence(record: str | None, tmp_path: Path) -> None:
    interrupted(tmp_path)
    checkpoint = tmp_path / "checkpoint"
    if record is None:
        (checkpoint / "run.json").unlink()
    else:
        (checkpoint / "run.json").write_text(record)
    before = (checkpoint / "state.safetensors").read_bytes()
    with pytest.raises(GlassformerError, match=r"run\.json is damaged or missing .*`overwrite=True`"):
        train_model(Sources(train=opinions()), recipe(), out=tmp_path, resume=True)
    assert (checkpoint / "state.safetensors").read_bytes() == before


def test_a_changed_record_of_the_run_is_noticed(tmp_path: Path) -> None:
    interrupted(tmp_path)
    record = tmp_path / "checkpoint" / "run.json"
    assert {"checkpoint/run.json", "checkpoint/tokenizer.json"} <= set(verify(tmp_path).whole)
    record.write_text(record.read_text().replace("\n", " "))
    assert verify(tmp_path).damaged == ["checkpoint/run.json"]
    with pytest.raises(GlassformerError, match=r"run\.json is damaged or missing \(its checksum differs\)"):
        train_model(Sources(train=opinions()), recipe(), out=tmp_path, resume=True)


@pytest.mark.parametrize(
    ("name", "content"),
    [("store.json", b"{"), ("store.json", b"[]"), ("offsets.npy", b""), ("offsets.npy", b"x"), ("tokens.bin", b"")],
)
def test_damaged_encoded_texts_are_encoded_again(name: str, content: bytes, tmp_path: Path) -> None:
    whole = train_model(Sources(train=opinions()), recipe())
    interrupted(tmp_path)
    (tmp_path / "checkpoint" / "train" / name).write_bytes(content)
    resumed = train_model(Sources(train=opinions()), recipe(), out=tmp_path, resume=True)
    assert figures(resumed.metrics["history"]) == figures(whole.metrics["history"])


def test_tokens_that_the_vocabulary_lacks_are_encoded_again(tmp_path: Path) -> None:
    """Their checksum is right, as if somebody had put the texts of another run there."""
    interrupted(tmp_path)
    work = tmp_path / "checkpoint"
    tokenizer, texts = TextTokenizer.load(work / "tokenizer.json"), opinions().frame["text"]
    whole = encode(texts, tokenizer, work, "train")
    before = whole.tokens.tolist()
    files = [work / "train" / name for name in ("tokens.bin", "offsets.npy")]
    files[0].write_bytes((whole.tokens + tokenizer.vocab_size).astype(whole.tokens.dtype).tobytes())
    store = work / "train" / "store.json"
    store.write_text(json.dumps(json.loads(store.read_text()) | {"sha256": sha256_of(files)}))
    assert encode(texts, tokenizer, work, "train").tokens.tolist() == before
    assert len(encode(texts[:3], tokenizer, work, "train")) == 3  # of another table


@pytest.mark.parametrize("name", ["train/tokens.bin", "train/offsets.npy", "tokenizer.json"])
def test_changed_bytes_of_a_run_are_made_again(name: str, tmp_path: Path) -> None:
    """They would be read as other tokens, and the resumed run would end as another model."""
    whole = train_model(Sources(train=opinions()), recipe())
    interrupted(tmp_path)
    path = tmp_path / "checkpoint" / name
    content = path.read_bytes()
    path.write_bytes(flipped(content, len(content) - 10))
    assert f"checkpoint/{name}" in verify(tmp_path).damaged
    resumed = train_model(Sources(train=opinions()), recipe(), out=tmp_path, resume=True)
    assert figures(resumed.metrics["history"]) == figures(whole.metrics["history"])


@pytest.mark.parametrize("lost", ["state.safetensors", "tokenizer.json", "train/store.json"])
def test_a_run_killed_early_is_resumed_from_what_is_there(lost: str, tmp_path: Path) -> None:
    whole = train_model(Sources(train=opinions()), recipe())
    interrupted(tmp_path)
    (tmp_path / "checkpoint" / lost).unlink()
    resumed = train_model(Sources(train=opinions()), recipe(), out=tmp_path, resume=True)
    assert figures(resumed.metrics["history"]) == figures(whole.metrics["history"])
