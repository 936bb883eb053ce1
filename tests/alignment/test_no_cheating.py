"""The last stages, small, held to the exact judge: a policy gains by good answers, not by fooling its reward model."""

import random
from pathlib import Path
from typing import Any

import pytest
import torch

from glassformer.alignment.alignment_config import (
    DPOConfig,
    FineTuningConfig,
    GRPOConfig,
    PPOConfig,
    RewardConfig,
)
from glassformer.alignment.pairs import Pair, Preference
from glassformer.alignment.rewards import open_reward
from glassformer.alignment.rl import steer
from glassformer.alignment.stage_run import Run, Start
from glassformer.alignment.stages import fine_tune, prefer, train_reward_model
from glassformer.alignment.tables import question
from glassformer.data import polarity
from glassformer.data.tokenizers import TextTokenizer, TokenizerConfig
from glassformer.models.language_model import LanguageModel
from glassformer.models.model_config import LanguageModelConfig
from glassformer.prediction.folder_config import LanguageFolderConfig
from glassformer.prediction.model_folder import TrainedLanguageModel

SHAPE = LanguageModelConfig(d_model=32, n_layers=1, n_heads=2, d_ff=64, max_seq_len=40)
WORDS = TokenizerConfig(kind="bpe", vocab_size=512, lowercase=False, normalization="none")
SUBJECTS = polarity.SUBJECTS[:4]
FEW_STEPS: dict[str, Any] = {"min_steps_per_epoch": 25}
FEW_ROUNDS: dict[str, Any] = {"updates": 12, "batch_size": 64, "learning_rate": 3e-3}


def opinions() -> dict[str, list[Pair]]:
    """150 favourable and 150 unfavourable ones, of the simplest sentences of the grammar and few of its words."""
    rng = random.Random(0)

    def opinion(words: list[str]) -> Pair:
        judged = f"{rng.choice(polarity.ADVERBS[:4])} {rng.choice(words[:6])}, {rng.choice(polarity.ASIDES[:4])}"
        return question(f"the {rng.choice(SUBJECTS)} {rng.choice(['is', 'was', 'seems'])} {judged}")

    return {
        label: [opinion(words) for _ in range(150)]
        for label, words in (("positive", polarity.PRAISE), ("negative", polarity.BLAME))
    }


def untrained(texts: list[str]) -> Start:
    torch.manual_seed(0)
    tokenizer = TextTokenizer.train(texts, WORDS)
    config = LanguageFolderConfig(
        model=SHAPE, vocab_size=tokenizer.vocab_size, tokenizer=WORDS, data={}, recipe={},
        versions={"glassformer": "0"}, created="2026-01-02T03:04:05+00:00", training_seconds=0.0,
    )  # fmt: skip
    model = LanguageModel(SHAPE, tokenizer.vocab_size)
    return Start(
        trained=TrainedLanguageModel(config=config, model=model, tokenizer=tokenizer, metrics={}), folder=Path("none")
    )


def preferences(by_label: dict[str, list[Pair]]) -> list[Preference]:
    """A favourable and an unfavourable answer to each question, as many as there are."""
    found = []
    for subject in SUBJECTS:
        asked = polarity.QUESTION.format(s=subject)
        good, bad = ([pair for pair in by_label[label] if pair.prompt == asked] for label in by_label)
        found += [
            Preference(prompt=asked, chosen=chosen.completion, rejected=rejected.completion)
            for chosen, rejected in zip(good, bad, strict=False)
        ]
    return found


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Start, Path, list[Preference]]:
    """A fine-tuned model, a reward model, and their preferences."""
    folder, by_label = tmp_path_factory.mktemp("stages"), opinions()
    pairs, compared = [pair for made in by_label.values() for pair in made], preferences(by_label)
    begin = untrained([pair.prompt + pair.completion for pair in pairs])
    tuning, judging = FineTuningConfig(epochs=6, **FEW_STEPS), RewardConfig(epochs=2, members=2, **FEW_STEPS)
    tuned = fine_tune(Run(start=begin, config=tuning, out=folder / "sft"), pairs, source="opinions")
    start = Start(trained=tuned, folder=folder / "sft")
    train_reward_model(Run(start=start, config=judging, out=folder / "reward"), compared, source="opinions")
    return start, folder / "reward", compared


def held_to_the_judge(trained: TrainedLanguageModel) -> None:
    answers = trained.metrics["answers"]
    before, after = ({name: found["value"] for name, found in answers[when].items()} for when in ("before", "after"))
    assert before["favourable"] < 0.6
    assert min(after["well_formed"], after["about"], after["favourable"]) > 0.85
    assert after["kl"] < 8


@pytest.mark.parametrize("config", [PPOConfig(**FEW_ROUNDS), GRPOConfig(**FEW_ROUNDS)], ids=["ppo", "grpo"])
def test_a_policy_gives_good_answers(
    config: PPOConfig | GRPOConfig, stages: tuple[Start, Path, list[Preference]], tmp_path: Path
) -> None:
    start, reward, compared = stages
    judge = open_reward(str(reward), start.trained.tokenizer, device="cpu")
    prompts = sorted({preference.prompt for preference in compared})
    held_to_the_judge(
        steer(start, judge, prompts, config, reward_name="reward", source="questions", out=tmp_path / "rl")
    )


def test_dpo_gives_good_answers(stages: tuple[Start, Path, list[Preference]], tmp_path: Path) -> None:
    start, _, compared = stages
    config = DPOConfig(epochs=2, **FEW_STEPS)
    held_to_the_judge(prefer(Run(start=start, config=config, out=tmp_path), compared, source="opinions"))
