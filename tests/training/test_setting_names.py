import pytest

from glassformer.alignment.alignment_config import FineTuningConfig, GRPOConfig, PPOConfig
from glassformer.data.splits import ValidationConfig
from glassformer.data.tokenizers import TokenizerConfig
from glassformer.models.model_config import ModelConfig
from glassformer.training.setting_names import OTHER_NAMES, nearest
from glassformer.training.training_config import TrainingConfig

CONFIGS = (TrainingConfig, ModelConfig, TokenizerConfig, ValidationConfig, FineTuningConfig, PPOConfig, GRPOConfig)
KNOWN = {name for config in CONFIGS for name in config.model_fields}


def test_every_name_that_is_suggested_is_a_setting() -> None:
    assert set(OTHER_NAMES) <= KNOWN


def test_no_setting_of_ours_is_taken_for_the_name_of_another() -> None:
    assert not KNOWN & {other for others in OTHER_NAMES.values() for other in others}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("lr", "learning_rate"),
        ("LR", "learning_rate"),
        ("learning-rate", "learning_rate"),
        ("learnin_rate", "learning_rate"),
        ("bs", "batch_size"),
        ("wd", "weight_decay"),
        ("num_epochs", "epochs"),
        ("hidden_size", "d_model"),
        ("d_hidden", "d_ff"),
        ("num_heads", "n_heads"),
        ("num_layers", "n_layers"),
        ("max_length", "max_seq_len"),
        ("warmup_steps", "warmup"),
        ("dropout_rate", "dropout"),
        ("zzz", None),
    ],
)
def test_what_was_meant(written: str, meant: str | None) -> None:
    assert nearest(written, KNOWN) == meant


def test_only_what_is_known_here_is_suggested() -> None:
    assert nearest("grad_clip", PPOConfig.model_fields) == "max_norm"
    assert nearest("grad_clip", TrainingConfig.model_fields) == "clip"
    assert nearest("lr", {"epochs"}) is None
