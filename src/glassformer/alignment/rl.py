"""Run reinforcement learning: from a language model, prompts and a reward to the model folder of the best policy."""

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from glassformer.alignment.alignment_config import GRPOConfig, PPOConfig
from glassformer.alignment.answers import compare_answers
from glassformer.alignment.collapse import signs_of_collapse, told
from glassformer.alignment.grpo import grpo
from glassformer.alignment.judged import Reward
from glassformer.alignment.ppo import ppo, value_head
from glassformer.alignment.rewards import RewardError
from glassformer.alignment.stage_run import (
    Card,
    Records,
    Start,
    check_is_no_input,
    described,
    records_fingerprint,
)
from glassformer.alignment.steering import Steering, SteeringObserver, check_room
from glassformer.models.language_model import LanguageModel
from glassformer.models.memory import keep_large_buffers
from glassformer.prediction.folder_config import LanguageFolderConfig
from glassformer.prediction.folder_names import CHECKPOINT_FOLDER, STATE_FILE
from glassformer.prediction.model_folder import TrainedLanguageModel, save_model
from glassformer.training.unfinished import finish, work_in

_NOTHING_YET = "Nothing was learned yet, so there is nothing to resume; correct the reward, and start again"


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
    """Train a causal language model towards a reward, and write the best policy as a model folder to `out`.

    Args:
        reward: judges the completions. If its fingerprint changed since the run was stopped, a resumed run forgets the
            best policy so far.
        reward_name: the name that the user gave for the reward. A resumed run must have the same name.
        source: the name that the user gave for the prompts; empty if the only prompt is the empty text.

    Raises:
        UsageError: a prompt does not fit into the window, `out` is in use or read by this run, or the model is not
            causal.
        InterruptedTraining: on Ctrl-C. The run in `out` can be resumed.
        RewardError: the reward failed. After the first evaluation on held-out prompts, the run in `out` can be resumed,
            and it calls the reward again.
        GlassformerError: the model gives NaN or infinite logits, or a checkpoint is damaged.
    """
    keep_large_buffers()
    shape, tokenizer = start.shape, start.trained.tokenizer
    check_room(prompts, tokenizer, config.max_tokens, shape.max_seq_len)  # before anything is written
    check_is_no_input(out, start.folder, Path(reward_name.rpartition(":")[0] or reward_name))
    work = out / CHECKPOINT_FOLDER
    is_ppo = isinstance(config, PPOConfig)
    recipe = {
        "algorithm": "ppo" if is_ppo else "grpo",
        "reward": reward_name,
        "training": config.model_dump(mode="json"),
    }
    identity = {"prompts": records_fingerprint(prompts), "from": start.record, **recipe, "training": config}
    with work_in(out, identity, resume=resume, overwrite=overwrite):
        policy = copy.deepcopy(cast(LanguageModel, start.trained.model)).to(device)
        parts = policy, tokenizer, reward, prompts
        around: Any = {"max_seq_len": shape.max_seq_len, "observer": observer, "checkpoint": work / STATE_FILE}
        run: Steering[Any] = Steering(*parts, config, **around, beside=value_head(policy) if is_ppo else {})
        try:
            (ppo if is_ppo else grpo)(run)
        except RewardError as error:
            begun = (work / STATE_FILE).is_file()
            saved = f"The run is saved in {out}; correct the reward, and continue with `resume=True`"
            raise RewardError(f"{error}. {saved if begun else _NOTHING_YET}") from error
        records = Records(
            source=source,
            fingerprint=records_fingerprint(prompts),
            train=len(run.prompts),
            held_out=run.n_held_out,
            too_long=0,
        )
        recipe |= {"reward_fingerprint": reward.fingerprint}
        fields = described(start, records, recipe, seconds=run.state.seconds)
        cheap = reward if reward.referee else None  # a function of the user may be slow, or fail
        answers = compare_answers(policy, start, prompts, max_tokens=config.max_tokens, seed=config.seed, reward=cheap)
        trained = TrainedLanguageModel(
            config=LanguageFolderConfig(model=shape, **fields),
            model=policy.cpu().eval(),
            tokenizer=tokenizer,
            metrics=_metrics(run) | {"answers": answers},
        )

        def save() -> TrainedLanguageModel:
            save_model(out, trained, card=_card(trained))
            return trained

        return finish(out, save, saved_step=run.state.round)


def _metrics(run: Steering[Any]) -> dict[str, Any]:
    state = run.state
    return {
        "best_update": state.best_round,
        "best": next(row for row in state.history if row["update"] == state.best_round),
        "collapsed": run.collapsed,
        "signs": told(signs_of_collapse(state.history)),
        "history": state.history,
    }


def _card(trained: TrainedLanguageModel) -> str:
    recipe, history = trained.config.recipe, trained.metrics["history"]
    by = recipe["algorithm"].upper()
    does = f"It was trained with {by} towards the reward `{recipe['reward']}`; nothing else was checked."
    if changed := [row["update"] for row in history if "reward_changed" in row]:
        does += f" Until round {changed[-1]:.0f} this name stood for a different reward."

    def figures(best: Mapping[str, float]) -> str:
        said = f"reward {best['held_out_reward']:.4f}, KL {best['held_out_kl']:.2f} nats from the starting model"
        if "held_out_referee" in best:
            said += f", the referee's reward {best['held_out_referee']:.4f}"
        looks = sum("held_out_reward" in row for row in history)
        if looks > 1:  # the same prompts choose the policy and measure it
            said += f"; the best of {looks} evaluations on them, so somewhat optimistic"
        return said

    return Card(title="A steered language model", does=does, figures=figures, record="prompt").write(trained)
