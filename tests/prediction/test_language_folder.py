import json
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.data.tokenizers import TokenizerConfig
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.model_config import LanguageModelConfig
from glassformer.models.published.notes_decoder import NotesLanguageModelConfig
from glassformer.prediction.generation import TextGenerator
from glassformer.prediction.model_folder import CLASSIFIER, LANGUAGE_MODEL, load_model, save_model
from glassformer.prediction.sampling import SamplingConfig
from tests.prediction.language import SMALL, trained_language_model
from tests.prediction.samples import small_trained_model

NOTES = NotesLanguageModelConfig(emb_dim=12, num_heads=3, n_layers=1, max_seq_len=10)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_model(tmp_path / "model", trained_language_model(), card="# It writes\n")
    return tmp_path / "model"


def edit(folder: Path, **values: Any) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


@pytest.mark.parametrize("model", [SMALL, SMALL.model_copy(update={"attention": "full", "n_layers": 0}), NOTES])
def test_what_is_saved_is_loaded(model: LanguageModelConfig | NotesLanguageModelConfig, tmp_path: Path) -> None:
    saved = trained_language_model(model=model, tokenizer=TokenizerConfig(min_frequency=1))
    save_model(tmp_path, saved, card="# It writes\n")
    loaded = load_model(tmp_path, LANGUAGE_MODEL)
    assert loaded.config == saved.config
    assert loaded.config.model == model
    assert loaded.metrics == {"best_epoch": 3}
    assert loaded.tokenizer.vocabulary() == saved.tokenizer.vocabulary()
    assert not loaded.model.training
    weights = loaded.model.state_dict()
    assert all(torch.equal(tensor, weights[name]) for name, tensor in saved.model.state_dict().items())
    assert (tmp_path / "README.md").read_text() == "# It writes\n"
    assert {path.suffix for path in tmp_path.iterdir()} == {".json", ".safetensors", ".md", ""}


def test_a_loaded_model_writes_as_the_saved_one(folder: Path) -> None:
    saved, config = trained_language_model(), SamplingConfig(max_tokens=40)
    (expected,) = TextGenerator(saved.model, saved.tokenizer, max_seq_len=24).complete(["the"], config)
    writer = TextGenerator.load(folder)
    assert writer.max_seq_len == 24
    assert writer.complete(["the"], config) == [expected]


def test_a_model_that_fills_in_does_not_write(tmp_path: Path) -> None:
    masked = SMALL.model_copy(update={"attention": "full"})
    save_model(tmp_path, trained_language_model(model=masked), card="")
    with pytest.raises(UsageError, match=r"reads whole texts and cannot continue .*`objective='causal'`"):
        TextGenerator.load(tmp_path)


def test_a_classifier_is_no_language_model(tmp_path: Path) -> None:
    save_model(tmp_path, small_trained_model(), card="")
    with pytest.raises(UsageError, match=r"holds a classifier; a language model is needed .*glassformer pretrain"):
        load_model(tmp_path, LANGUAGE_MODEL)


def test_a_language_model_is_no_classifier(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"holds a language model; a classifier is needed .*glassformer train"):
        load_model(folder, CLASSIFIER)


def test_what_is_no_folder_of_ours(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such model folder"):
        load_model(tmp_path / "nothing", LANGUAGE_MODEL)
    with pytest.raises(UsageError, match=r"not a model folder.*glassformer pretrain"):
        load_model(tmp_path, LANGUAGE_MODEL)
    (tmp_path / "checkpoint").mkdir()
    (tmp_path / "checkpoint" / "run.json").write_text("{}")
    with pytest.raises(UsageError, match="unfinished run"):
        load_model(tmp_path, LANGUAGE_MODEL)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ({"design": "gpt-9"}, r"model.*gpt-9"),
        (SMALL.model_dump() | {"heads": 3}, r"model.*heads"),
        (SMALL.model_dump() | {"n_layers": 3}, "the files come from different models"),
        (SMALL.model_dump() | {"design": "classifier"}, "model"),
    ],
)
def test_a_config_that_does_not_fit_is_one_sentence(model: dict[str, Any], says: str, folder: Path) -> None:
    edit(folder, model=model)
    with pytest.raises(GlassformerError, match=says):
        load_model(folder, LANGUAGE_MODEL)


def test_files_of_two_models_are_not_read_together(folder: Path, tmp_path: Path) -> None:
    other = trained_language_model(tokenizer=TokenizerConfig(min_frequency=1))
    save_model(tmp_path / "other", other, card="")
    (tmp_path / "other" / "tokenizer.json").replace(folder / "tokenizer.json")
    with pytest.raises(GlassformerError, match=r"tokenizer\.json has 14 tokens where config\.json says 259"):
        load_model(folder, LANGUAGE_MODEL)
