"""The encoder reader: what a folder says, vectors, their cache, files."""

import copy
import json
import pickle
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from glassformer.data.arrays import FloatArray
from glassformer.data.inputs import BEGIN, END, SEPARATOR, Inputs, mark
from glassformer.errors import GlassformerError, UsageError
from glassformer.readers.encoder.prediction import EncoderReader, TextEncoder, vectors_of_rows
from glassformer.readers.encoder.training import VECTORS_FOLDER, fit_encoder, read_encoder
from glassformer.readers.folds import folds_of
from glassformer.readers.joining import KNOWING, STRANGE
from glassformer.readers.reader import FittedReader, Rows
from glassformer.training.loop import Silent
from glassformer.training.unfinished import content_of
from tests.checkpoints import describe_encoder, write_checkpoint
from tests.readers.body.test_body import rows_of
from tests.training.samples import Memory

MEAN = ("Pooling", {"word_embedding_dimension": 24, "pooling_mode_mean_tokens": True})
TEXTS, LABELS = ["i loved it", "the cast is great", "a dull book", "it was langweilig"] * 4, [0, 0, 1, 1] * 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("encoder")
    write_checkpoint(place, "bert", "Model", num_hidden_layers=1)
    describe_encoder(place, MEAN, ("Normalize", {}), window=30)
    return place


@pytest.fixture(scope="module")
def encoder(folder: Path) -> TextEncoder:
    return read_encoder(f"hf:{folder}")


def fitted(encoder: TextEncoder, rows: Rows, work: Path | None = None) -> FittedReader[EncoderReader]:
    return fit_encoder(encoder, rows, folds_of(rows.truth, seed=0), work=work, device="cpu", observer=Silent())


def test_what_the_folder_says_is_read(encoder: TextEncoder) -> None:
    assert encoder.config.in_words() == "1 block of width 24, 3 heads, pooling mean, of length 1"
    assert encoder.config.trunk.max_seq_len == 30
    assert np.allclose(np.linalg.norm(encoder.vectors(TEXTS), axis=1), 1)


def test_texts_that_the_tokenizer_does_not_know_are_told(encoder: TextEncoder) -> None:
    of_columns = [mark("shop", "магазин на улице") + SEPARATOR.join([text, text]) for text in TEXTS]
    russian = ["все хорошо", "все плохо"] * 8
    few, more = TEXTS[:11] + russian[:5], TEXTS[:10] + russian[:6]  # 13 and 17% of their tokens
    for texts, told in ((TEXTS, False), (of_columns, False), (few, False), (more, True), (russian, True)):
        observer = Memory()
        rows = rows_of(texts, LABELS)
        found = fit_encoder(encoder, rows, folds_of(rows.truth, seed=0), work=None, device="cpu", observer=observer)
        assert any("are unknown to the encoder" in message for message in observer.messages) == told
        assert found.odds == (STRANGE if told else KNOWING)


def test_an_encoder_that_was_never_trained_is_told(encoder: TextEncoder) -> None:
    """Its matrices are drawn at random, and everything else is 0 or 1."""
    untrained = copy.deepcopy(encoder)
    for weight in untrained.model.parameters():
        if weight.ndim == 1:
            weight.fill_(1)
    for each, told in ((encoder, False), (untrained, True)):
        observer, rows = Memory(), rows_of(TEXTS, LABELS)
        found = fit_encoder(each, rows, folds_of(rows.truth, seed=0), work=None, device="cpu", observer=observer)
        assert any("never trained" in message for message in found.doubts) == told
        assert {*found.doubts} <= {*observer.messages}
        assert found.odds == (STRANGE if told else KNOWING)


def test_an_encoder_that_we_exported_may_have_learned_the_rows(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "glassformer.json").write_text("{}")
    for place, told in ((folder, False), (tmp_path, True)):
        observer, rows = Memory(), rows_of(TEXTS, LABELS)
        read = read_encoder(f"hf:{place}")
        fit_encoder(read, rows, folds_of(rows.truth, seed=0), work=None, device="cpu", observer=observer)
        assert any("if it learned rows of this table" in message for message in observer.messages) == told


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta"])
def test_the_window_is_read_from_files_of_older_versions(family: str, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "sentence_bert_config.json").rename(tmp_path / f"sentence_{family}_config.json")
    assert read_encoder(f"hf:{tmp_path}").config.trunk.max_seq_len == 30


def test_the_reader_learns_and_is_read_as_it_was_written(encoder: TextEncoder, tmp_path: Path) -> None:
    found = fitted(encoder, rows_of(TEXTS, LABELS))
    assert found.held_out.shape == (16, 2)
    scores = found.reader.scores([*TEXTS, ""])
    assert scores[:-1].argmax(axis=1).tolist() == LABELS
    found.reader.save(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [
        "encoder.json", "head.safetensors", "model.safetensors", "tokenizer.json"
    ]  # fmt: skip
    again = EncoderReader.load(tmp_path)
    assert np.array_equal(again.scores([*TEXTS, ""]), scores)
    assert np.array_equal(pickle.loads(pickle.dumps(again)).scores(TEXTS), scores[:-1])
    assert again.scores([]).shape == (0, 2)
    assert again.encoder.fingerprint == encoder.fingerprint


def test_each_text_of_a_row_has_a_vector_of_its_own(encoder: TextEncoder) -> None:
    """The label is that of the second text, and columns are not read."""
    inputs = Inputs(texts=("one", "other"), columns=())
    pairs = [(one, other) for one in ("i loved it", "a dull book") for other in ("i loved it", "a dull book")] * 4
    labels = [number % 2 for number in range(16)]
    reader = fitted(encoder, rows_of([SEPARATOR.join(pair) for pair in pairs], labels, inputs)).reader
    assert reader.texts == 2
    asked = [f"{BEGIN}shop=Berlin{END}a dull book{SEPARATOR}i loved it", f"i loved it{SEPARATOR}a dull book"]
    assert reader.scores(asked).argmax(axis=1).tolist() == [0, 1]
    assert np.array_equal(reader.scores(["a dull book"]), reader.scores([f"a dull book{SEPARATOR}"]))


def test_each_text_is_encoded_once_and_not_again_by_a_resumed_run(
    encoder: TextEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, asked, real = rows_of(TEXTS, LABELS), list[str](), TextEncoder.vectors

    def counted(own: TextEncoder, texts: Sequence[str]) -> FloatArray:
        asked.extend(texts)
        return real(own, texts)

    monkeypatch.setattr(TextEncoder, "vectors", counted)
    monkeypatch.setattr("glassformer.readers.encoder.training._TEXTS_AT_ONCE", 3)
    first = fitted(encoder, rows, tmp_path)
    assert asked == TEXTS[:4]
    kept = sorted((tmp_path / VECTORS_FOLDER).iterdir())
    assert len(kept) == 2
    kept[0].write_bytes(b"damaged")
    asked.clear()
    again = fitted(encoder, rows, tmp_path)
    assert len(asked) in (1, 3)
    assert np.array_equal(first.held_out, again.held_out)


def test_vectors_are_asked_for_once() -> None:
    asked: list[Sequence[str]] = []

    def vectors(texts: Sequence[str]) -> FloatArray:
        asked.append(texts)
        return np.array([[len(text)] for text in texts], np.float32)

    found = vectors_of_rows(["a", "bb", "a"], 1, 1, vectors)
    assert (found.ravel().tolist(), asked) == ([1, 2, 1], [["a", "bb"]])


def parts(*kinds: tuple[str, dict[str, Any]]) -> Callable[[Path], None]:
    return lambda folder: describe_encoder(folder, *kinds)


def named(**changes: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        describe_encoder(folder, MEAN)
        listed = json.loads((folder / "modules.json").read_text())
        listed[1] |= changes
        (folder / "modules.json").write_text(json.dumps(listed))

    return change


def with_file(name: str, content: str | None) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        describe_encoder(folder, MEAN)
        if content is None:
            (folder / "model.safetensors").rename(folder / name)
        else:
            (folder / name).write_text(content)

    return change


def without_settings(folder: Path) -> None:
    describe_encoder(folder, MEAN)
    (folder / "1_Pooling" / "config.json").unlink()


@pytest.mark.parametrize(
    ("spoil", "error", "words"),
    [
        (without_settings, GlassformerError, "1_Pooling/config.json is missing"),
        (parts(("Pooling", {"pooling_mode": "weightedmean"})), UsageError, "the pooling 'weightedmean' cannot be read"),
        (parts(), UsageError, "names no Pooling"),
        (parts(MEAN, ("LSTM", {})), UsageError, "LSTM in 2_LSTM cannot be read"),
        (parts(MEAN, ("Dense", {"out_features": 3, "activation_function": "x.Tanh"})), UsageError, "x.Tanh"),
        (parts(MEAN, ("Dense", {})), GlassformerError, "a dense layer names no out_features"),
        (with_file("config.json", '{"format": "glassformer-classifier"}'), UsageError, "in the format transformers"),
        (parts(MEAN, ("Dense", {"out_features": 3, "activation_function": "torch.nn.modules.activation.Tanh"})),
         UsageError, "2_Dense: there is no model.safetensors"),
        (named(type="custom_code.Pooling"), UsageError, "code of its own; none is run"),
        (named(path="../secret"), GlassformerError, "not a folder in it"),
        (with_file("modules.json", "{}"), GlassformerError, "does not list parts"),
        (with_file("pytorch_model.bin", None), UsageError, "pickle"),
        (with_file("sentence_bert_config.json", '{"transformer_task": "any-to-any"}'), UsageError, "any-to-any"),
        (with_file("config_sentence_transformers.json", '{"default_prompt_name": "p"}'), UsageError, "no such prompt"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_words(
    spoil: Callable[[Path], None], error: type[Exception], words: str, tmp_path: Path
) -> None:
    write_checkpoint(tmp_path, "bert", "Model", num_hidden_layers=1)
    spoil(tmp_path)
    with pytest.raises(error) as caught:
        read_encoder(f"hf:{tmp_path}")
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"`model.body='hf:{tmp_path}'`")


def test_an_encoder_is_downloaded_without_anything_that_could_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def snapshot_download(_name: str, *, allow_patterns: list[str]) -> str:
        asked.extend(allow_patterns)
        return str(folder)

    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=snapshot_download))
    assert read_encoder("hf:someone/encoder").config.unit
    assert {"modules.json", "config.json", "sentence_*_config.json", "[0-9]_*/*.json"} < set(asked)
    assert all(pattern.endswith((".json", ".txt", ".safetensors")) for pattern in asked)
    assert content_of("hf:someone/encoder") == {"encoder": folder.name}  # on the hub, that is the commit


@pytest.mark.parametrize("damage", ["encoder.json", "tokenizer.json", "model.safetensors", "head.safetensors", "width"])
def test_damaged_files_are_refused(encoder: TextEncoder, tmp_path: Path, damage: str) -> None:
    fitted(encoder, rows_of(TEXTS, LABELS)).reader.save(tmp_path)
    if damage == "width":
        described = json.loads((tmp_path / "encoder.json").read_text())
        (tmp_path / "encoder.json").write_text(json.dumps(described | {"poolings": ["mean", "max"]}))
    else:
        (tmp_path / damage).write_text("{}")
    with pytest.raises(GlassformerError):
        EncoderReader.load(tmp_path)
