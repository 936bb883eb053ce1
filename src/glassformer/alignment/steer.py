"""One run of reinforcement learning: a language model, prompts and a reward in, the folder of its successor out."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch

from glassformer.alignment.config import GRPOConfig, PPOConfig
from glassformer.alignment.grpo import grpo
from glassformer.alignment.ppo import ppo
from glassformer.alignment.runs import Records, Start, card, describe, fingerprint
from glassformer.alignment.steering import Reward, SteeringObserver
from glassformer.models.language_model import LanguageModel
from glassformer.prediction.folder import CHECKPOINT_FOLDER, STATE_FILE
from glassformer.prediction.language_folder import LanguageFolderConfig, TrainedLanguageModel, save_language_model
from glassformer.training.memory import keep_large_buffers
from glassformer.training.unfinished import open_work, prepare_out


def steer(
    start: Start,
    reward: Reward,
    prompts: Sequence[str],
    config: PPOConfig | GRPOConfig,
    *,
    reward_name: str,
    source: str,
    out: Path,
    resume: bool = False,
    overwrite: bool = False,
    device: str = "cpu",
    observer: SteeringObserver | None = None,
) -> TrainedLanguageModel:
    """Steer a causal language model towards a reward; leave the best policy as a model folder in `out`.

    Args:
        reward_name: what the user called it; a resumed run must have the same.
        source: where the prompts are from.

    Raises:
        UsageError: a prompt does not fit, `out` is taken, or the model is not causal.
        InterruptedTraining: on Ctrl-C; `out` can be resumed.
        RewardError: the reward failed; `out` can be resumed from the last look at the held-out prompts.
    """
    keep_large_buffers()
    shape, tokenizer = start.shape, start.trained.tokenizer
    prepare_out(out, resume=resume, overwrite=overwrite)
    work = out / CHECKPOINT_FOLDER
    algorithm = "ppo" if isinstance(config, PPOConfig) else "grpo"
    recipe = {"algorithm": algorithm, "reward": reward_name, "training": config.model_dump(mode="json")}
    open_work(work, {"prompts": fingerprint(prompts), "from": start.record, **recipe}, resume=resume)
    torch.manual_seed(config.seed)
    policy = cast(LanguageModel, start.trained.model.to(device))
    around: Any = {"max_seq_len": shape.max_seq_len, "observer": observer, "checkpoint": work / STATE_FILE}
    if isinstance(config, PPOConfig):
        state, collapsed = ppo(policy, tokenizer, reward, prompts, config, **around)
    else:
        state, collapsed = grpo(policy, tokenizer, reward, prompts, config, **around)
    best = next((row for row in state.history if row["update"] == state.best_epoch), {})
    figures = {"best_update": state.best_epoch, "best": best, "collapsed": collapsed, "history": state.history}
    held_out = round(config.held_out * len(prompts))
    records = Records(
        source=source,
        fingerprint=fingerprint(prompts),
        train=len(prompts) - held_out,
        held_out=held_out,
        too_long=0,
    )
    facts = describe(start, records, recipe=recipe, seconds=state.seconds, metrics=figures)
    made = LanguageFolderConfig(model=shape, **facts.config)
    trained = TrainedLanguageModel(config=made, model=policy.cpu().eval(), tokenizer=tokenizer, metrics=figures)
    does = f"It was steered towards what `{reward_name}` rewards, by {algorithm.upper()}; no more is known of it."
    said = f"reward {best.get('held_out_reward', 0):.4f}, {best.get('held_out_kl', 0):.2f} nats from where it started"
    save_language_model(out, trained, card=card("A steered language model", does, facts, said))
    shutil.rmtree(work)
    return trained
