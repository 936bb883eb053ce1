"""Folders that the first version wrote, on `polarity`, and what that version answered with them."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.data.tokenizers import START_ID, TextTokenizer
from glassformer.errors import GlassformerError
from glassformer.prediction.folder_format import FORMAT_VERSION
from glassformer.prediction.model_folder import CLASSIFIER, LANGUAGE_MODEL, REWARD_MODEL, load_model, save_model
from glassformer.prediction.predictor import Predictor

FOLDERS = Path(__file__).parent / "version_1"
ANSWERS: dict[str, Any] = json.loads((FOLDERS / "answers.json").read_text())
TEXTS: list[str] = ANSWERS["texts"]


def read(tokenizer: TextTokenizer, text: str, window: int) -> tuple[Tensor, Tensor]:
    token_ids = torch.tensor([[START_ID, *tokenizer.encode([text])[0].tolist()]])[:, :window]
    return token_ids, torch.ones_like(token_ids, dtype=torch.bool)


@pytest.mark.parametrize("name", ["classifier", "language-model", "reward-model"])
def test_they_are_of_version_1(name: str) -> None:
    assert json.loads((FOLDERS / name / "config.json").read_text())["format_version"] == 1


def test_a_classifier_answers_as_it_did() -> None:
    found = Predictor.load(FOLDERS / "classifier").logits(TEXTS)
    torch.testing.assert_close(torch.from_numpy(found), torch.tensor(ANSWERS["logits"]), rtol=1e-4, atol=1e-6)


@torch.inference_mode()
def test_a_language_model_predicts_as_it_did() -> None:
    trained = load_model(FOLDERS / "language-model", LANGUAGE_MODEL)
    found = []
    for text in TEXTS:
        token_ids, mask = read(trained.tokenizer, text, trained.config.model.max_seq_len)
        logprobs = trained.model(token_ids, mask).log_softmax(-1)[0, :-1]
        found.append(float(logprobs.gather(-1, token_ids[0, 1:, None]).sum()))
    assert found == pytest.approx(ANSWERS["loglikelihoods"], rel=1e-5)


def test_a_reward_model_of_that_time_is_to_be_made_again() -> None:
    with pytest.raises(
        GlassformerError, match="version 1, and a reward model needs version 7; make it again with `glass"
    ):
        load_model(FOLDERS / "reward-model", REWARD_MODEL)


def test_what_is_saved_again_is_of_this_version(tmp_path: Path) -> None:
    trained = load_model(FOLDERS / "classifier", CLASSIFIER)
    save_model(tmp_path / "again", trained, card="")
    assert json.loads((tmp_path / "again" / "config.json").read_text())["format_version"] == FORMAT_VERSION
    assert (Predictor.load(tmp_path / "again").logits(TEXTS) == Predictor(trained).logits(TEXTS)).all()


def test_names_of_version_1_in_a_folder_of_this_version_are_a_fault(tmp_path: Path) -> None:
    shutil.copytree(FOLDERS / "classifier", tmp_path / "mixed")
    config = tmp_path / "mixed" / "config.json"
    config.write_text(config.read_text().replace('"format_version": 1', f'"format_version": {FORMAT_VERSION}'))
    with pytest.raises(GlassformerError, match="the files come from different models"):
        load_model(tmp_path / "mixed", CLASSIFIER)
