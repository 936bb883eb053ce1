from pathlib import Path

import pytest
import torch

from glassformer.alignment.alignment_config import PPOConfig
from glassformer.alignment.judged import Reward
from glassformer.alignment.pairs import Pair, Preference
from glassformer.alignment.rl import steer
from glassformer.alignment.rollouts import Rollouts
from glassformer.alignment.stage_run import Start
from glassformer.alignment.stages import fine_tune, train_reward_model
from glassformer.prediction.model_folder import (
    LANGUAGE_MODEL,
    REWARD_MODEL,
    TrainedLanguageModel,
    load_model,
    save_model,
)
from glassformer.words.new_words import Entry, learn_words
from tests.alignment.samples import reward_run, run
from tests.words.samples import KNOWN, language_model_of_known

WORDS = ["gran", "hahi"]


@pytest.fixture
def taught(tmp_path: Path) -> Start:
    """A language model that has learned two words."""
    entries = [Entry(word=word, definition="aao bbo") for word in WORDS]
    save_model(tmp_path / "lm", learn_words(language_model_of_known(), entries).trained, card="")
    return Start(trained=load_model(tmp_path / "lm", LANGUAGE_MODEL), folder=tmp_path / "lm")


def assert_knows_the_words(made: TrainedLanguageModel, folder: Path, begins: Start) -> None:
    loaded = load_model(folder, LANGUAGE_MODEL)
    assert [new.word for new in loaded.config.new_words] == WORDS
    assert loaded.config.new_words == made.config.new_words == begins.trained.config.new_words
    size = begins.trained.config.vocab_size
    assert loaded.tokenizer.word_ids(WORDS) == [size - 2, size - 1]
    hidden = torch.randn(1, loaded.config.model.model_dump()["d_model"])
    assert torch.equal(loaded.model.logits(hidden), made.model.logits(hidden))


def test_fine_tuning_keeps_the_record_of_words_learned(taught: Start, tmp_path: Path) -> None:
    pairs = [Pair(prompt=f"{KNOWN[number]} gran", completion=" hahi") for number in range(9)]
    made = fine_tune(run(tmp_path / "sft", start=taught, epochs=1), pairs, source="pairs.csv")
    assert_knows_the_words(made, tmp_path / "sft", taught)


def test_reinforcement_learning_keeps_it(taught: Start, tmp_path: Path) -> None:
    config = PPOConfig(updates=1, batch_size=4, minibatch_size=4, epochs=1, max_tokens=3, held_out_completions=3)

    def low_tokens(rollouts: Rollouts) -> torch.Tensor:
        return torch.tensor([-sum(ids) / 100 for ids in rollouts.completion_ids])

    reward = Reward(judge=low_tokens, fingerprint="1f")
    made = steer(taught, reward, KNOWN[:5], config, reward_name="a.py:b", source="prompts.txt", out=tmp_path / "rl")
    assert_knows_the_words(made, tmp_path / "rl", taught)


def test_a_reward_model_keeps_it(taught: Start, tmp_path: Path) -> None:
    records = [Preference(prompt=word, chosen=" gran aao", rejected=" hahi bbo") for word in KNOWN[:9]]
    train_reward_model(reward_run(tmp_path / "judge", start=taught, epochs=1), records, source="preferences.csv")
    assert load_model(tmp_path / "judge", REWARD_MODEL).config.new_words == taught.trained.config.new_words
