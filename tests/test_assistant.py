"""The commands of docs/how-to/assistant.md, run as written on a budget of a few steps, and the demonstration's own."""

import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from glassformer.data import polarity
from tests.cli.terminal import glassformer
from tests.fits import few_steps
from tests.trained import keep_lines

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "how-to" / "assistant.md").read_text(encoding="utf-8")
BUDGET = dict.fromkeys(("pretrain", "sft", "reward", "dpo"), "training.max_steps=5")
STEERING = ["updates=1", "batch_size=8", "held_out_completions=4", "max_tokens=8"]


def commands() -> list[str]:
    return re.findall(r"^    (glassformer .*)$", PAGE, flags=re.MULTILINE)


def on_a_budget(command: str) -> list[str]:
    words = shlex.split(command)
    for name, budget in BUDGET.items():
        if name in words[1:3]:
            return [*words, "--set", budget]
    if words[1] == "generate":
        return [*words, "--max-tokens", "8"]
    more = {
        "rl": [word for each in STEERING for word in ("--set", f"training.{each}")],
        "evaluate": ["--answers", "20"],
    }
    return [*words, *(more.get(words[2], []) if words[1] == "align" else [])]


@pytest.mark.slow
@few_steps()
def test_the_commands_of_the_page_run_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(polarity.N_ROWS, "train", 1_000)
    frame = polarity.generate("train").frame.select("text", "label")[:120]
    frame.write_csv(tmp_path / "reviews.csv")
    (tmp_path / "notes.txt").write_text("\n\n".join(frame["text"]), encoding="utf-8")
    assert len(commands()) >= 10
    for command in commands():
        _, *arguments = on_a_budget(command)
        outcome = glassformer(*arguments)
        assert outcome.code == 0, f"{command}\n{outcome.err}"
        assert outcome.out.strip(), command
        if "align pairs" in command:
            for file in tmp_path.glob("**/p*s.jsonl"):
                keep_lines(file, 100)


def test_the_page_names_settings_and_files_that_exist() -> None:
    from glassformer.alignment.alignment_config import DPOConfig, GRPOConfig, PPOConfig, RewardConfig

    known = {name for kind in (PPOConfig, GRPOConfig, DPOConfig, RewardConfig) for name in kind.model_fields}
    for setting in re.findall(r"`(?:--set )?training\.(\w+)", PAGE):
        assert setting in known, setting
    for link in re.findall(r"\]\((\.\./[^)#]+)[^)]*\)", PAGE):
        assert (ROOT / "docs" / "how-to" / link).is_file(), link
    (demo,) = re.findall(r"^demo-assistant:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    for stage in ("pretrain", "align pairs", "align sft", "align reward", "align rl", "align evaluate"):
        assert f"glassformer {stage} " in demo, stage
        assert f"glassformer {stage} " in PAGE, stage
    assert pl.Series(re.findall(r"generate \S+ ", demo)).n_unique() == 3  # before and after each stage
