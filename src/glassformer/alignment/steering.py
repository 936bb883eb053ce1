"""What PPO and GRPO share around their loops.

That is: the prompts, the evaluation on held-out prompts, the best policy, when to stop, and how to resume.
"""

import copy
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from types import TracebackType
from typing import Generic, NoReturn, Protocol, Self, TypeVar

import numpy as np
import torch
from pydantic import FiniteFloat, NonNegativeInt
from torch import Tensor, nn

from glassformer.alignment.alignment_config import PolicyConfig
from glassformer.alignment.answers import exact_verdicts
from glassformer.alignment.collapse import signs_of_collapse, told
from glassformer.alignment.divergence import AdaptiveBeta
from glassformer.alignment.judged import Judged, Reward, read_back
from glassformer.alignment.pairs import FEWEST_PROMPTS, hold_out_records
from glassformer.alignment.rollouts import distinct_n, roll_out
from glassformer.data.files import write_aside
from glassformer.data.stopping import stop_requests
from glassformer.data.tokenizers import TextTokenizer
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.language_model import LanguageModel
from glassformer.prediction.sampling import SamplingConfig
from glassformer.training.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from glassformer.training.loop import InterruptedTraining

Config = TypeVar("Config", bound=PolicyConfig)
REWARD_FILE = "reward.sha256"
"""A file beside the checkpoint that holds the fingerprint of the reward. The best policy was chosen by that reward."""
_MOST_SETBACKS = 3
_HORIZON = 8  # rounds in which an adaptive β can change by a fifth. Ziegler et al. 2019 had a thousand times more texts


class CollapseError(GlassformerError):
    """The policy is too far from its reference, always writes the same, or has NaN or infinite weights."""


@dataclass(kw_only=True)
class SteeringState:
    """The progress of a run, as it is saved in a checkpoint."""

    round: NonNegativeInt = 0
    """The number of finished rounds."""
    best_round: NonNegativeInt = 0
    """The round whose policy is kept. 0 is the starting policy."""
    best_worth: float | None = None
    """The kept policy's mean reward (the referee's, if there is one) on held-out prompts minus β·KL; None before the
    first evaluation."""
    setbacks: NonNegativeInt = 0
    """How often the policy went too far from the reference and was put back. Each time halves the learning rate."""
    seconds: FiniteFloat = 0.0
    """Time spent, evaluations on held-out prompts included."""
    history: list[dict[str, float]] = field(default_factory=list)
    """One row per finished round, with the figures of the evaluation that followed it."""

    def __post_init__(self) -> None:
        if not all({"update", "next_beta"} <= row.keys() for row in self.history):
            raise ValueError("it holds rounds without figures")


class SteeringObserver(Protocol):
    """Receives the progress of steering."""

    def on_update(self, row: dict[str, float], sample: tuple[str, str]) -> None:
        """Receive one round's figures, and a prompt with its completion."""

    def on_message(self, text: str) -> None: ...


class Steering(Generic[Config]):
    """One run of an algorithm that trains a policy towards a reward. The reference is a copy of the starting policy.

    The policy is trained in place. At the end it holds the best weights of the run.

    Args:
        beside: modules that are trained together with the policy, by name.
        checkpoint: the file that the run is saved to. It is saved at each evaluation on held-out prompts, on Ctrl-C,
            and when the reward fails after the first evaluation. The reward's fingerprint is kept in the same folder.

    Raises:
        UsageError: a prompt leaves no room for `config.max_tokens` in the window.

    Raises (the algorithm):
        InterruptedTraining: on Ctrl-C; another run goes on from the checkpoint.
        GlassformerError: the policy gives NaN or infinite logits from the start, or the checkpoint is damaged. Errors
            of the reward pass through.
    """

    def __init__(
        self,
        policy: LanguageModel,
        tokenizer: TextTokenizer,
        reward: Reward,
        prompts: Sequence[str],
        config: Config,
        *,
        max_seq_len: int,
        beside: dict[str, nn.Module] | None = None,
        observer: SteeringObserver | None = None,
        checkpoint: Path | None = None,
    ) -> None:
        self.policy, self.reference = policy.eval(), copy.deepcopy(policy).requires_grad_(False)
        self.tokenizer, self.reward, self.config, self.max_seq_len = tokenizer, reward, config, max_seq_len
        self.parts = nn.ModuleDict({"policy": policy, **(beside or {})})
        self.optimizer = torch.optim.AdamW(self.parts.parameters(), lr=config.learning_rate, weight_decay=0.0)
        self.observer, self.checkpoint = observer, checkpoint
        check_room(prompts, tokenizer, config.max_tokens, max_seq_len)
        self.prompts, held_out = hold_out_records(prompts, config.held_out, seed=config.seed, fewest=FEWEST_PROMPTS)
        self.n_held_out = len(held_out)
        asked, self._where = (held_out, "held-out") if held_out else (self.prompts, "its")
        self.held_out = [asked[i % len(asked)] for i in range(config.held_out_completions)]
        horizon = _HORIZON * config.batch_size
        self._adaptive_beta = AdaptiveBeta(beta=config.beta, target_kl=config.target_kl, horizon=horizon)
        self.state, self._counted_until = SteeringState(), time.perf_counter()
        self.best: dict[str, Tensor] = {}
        self.collapsed: str | None = None
        self._warned = False

    def __enter__(self) -> Self:
        """Resume from the checkpoint if there is one, and handle Ctrl-C from now on."""
        if self.checkpoint is not None:
            self._go_on(self.checkpoint)
        self._interrupts = stop_requests()
        self._stop = self._interrupts.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        """Put the best weights into the policy. A collapse ends the run early and is not raised to the caller."""
        self._interrupts.__exit__(kind, error, traceback)
        self._count_seconds()
        if isinstance(error, CollapseError):
            self.collapsed = str(error)
        if self.best and (error is None or self.collapsed):
            self.parts.load_state_dict(self.best)
        return self.collapsed is not None

    def _go_on(self, checkpoint: Path) -> None:
        kept = checkpoint.with_name(REWARD_FILE)
        if checkpoint.is_file():
            self.state, self.best = load_checkpoint(checkpoint, SteeringState, self.parts, [self.optimizer])
            if self.state.history:
                self._adaptive_beta.beta = self.state.history[-1]["next_beta"]
            if self.best and not (kept.is_file() and kept.read_text(encoding="utf-8") == self.reward.fingerprint):
                self._forget_best()
                self._save()  # before the new fingerprint is written: else old figures could pass for its own
        write_aside(kept, self.reward.fingerprint)

    def _forget_best(self) -> None:
        """Forget the best policy, since the reward changed: the new one may rate it worst. An evaluation is due now."""
        if self.observer:
            self.observer.on_message(
                f"the reward changed since this run was saved after round {self.state.round}: the best policy so far, "
                f"of round {self.state.best_round}, and the evaluations on {self._where} prompts are forgotten"
            )
        for row in self.state.history:
            for name in [name for name in row if name.startswith("held_out_")]:
                del row[name]
        self.state.history[-1]["reward_changed"] = 1.0
        self.state.best_worth, self.state.best_round, self.best = None, 0, {}

    @property
    def beta(self) -> float:
        """The KL penalty of this round: units of reward per nat of KL from the reference."""
        return self._adaptive_beta.beta

    def rounds(self) -> Iterator[int]:
        """Yield the numbers of the rounds that are left. Evaluate and save between them when it is due.

        Raises:
            InterruptedTraining: on Ctrl-C, after the run is saved.
        """
        while True:
            if self._look_is_due():
                self._look()
                self._try_to_save()
            if self.state.round == self.config.updates:
                return
            if self._stop.number is not None:
                self._save()
                raise InterruptedTraining(self._stop.number)
            for group in self.optimizer.param_groups:  # falls to 0: the last steps then follow less noise
                rate = self.config.learning_rate / 2**self.state.setbacks
                group["lr"] = rate * (1 - self.state.round / self.config.updates)
            yield self.state.round
            self.state.round += 1

    def write(self, number: int, *, group_size: int = 1) -> Judged:
        """Let the policy write the completions of a round, and judge them.

        There are `group_size` completions of each prompt, next to each other. They depend only on the policy, the seed
        and the round.

        Raises:
            CollapseError: the policy gives NaN or infinite logits. Errors of the reward pass through.
        """
        rng = np.random.default_rng([self.config.seed, number])
        chosen = rng.integers(len(self.prompts), size=self.config.batch_size // group_size).repeat(group_size)
        return self._judged([self.prompts[i] for i in chosen], seed=int(rng.integers(2**60)))

    @torch.no_grad()
    def _judged(self, prompts: list[str], *, seed: int) -> Judged:
        sampling = SamplingConfig(max_tokens=self.config.max_tokens, seed=seed)
        try:
            rollouts = roll_out(self.policy, self.tokenizer, prompts, sampling, max_seq_len=self.max_seq_len)
        except GlassformerError as error:  # the policy gives NaN or infinite logits
            if not self.best:
                raise
            self._collapse(str(error))
        try:
            rewards = self.reward(rollouts)
        except BaseException:  # the reward may be the user's own slow code: keep what was learned before it failed
            if self.state.history:  # without it there is nothing to resume
                self._try_to_save()
            raise
        return read_back(self.policy, self.reference, rollouts, rewards)

    def minibatches(self, number: int) -> Iterator[Tensor]:
        """Yield the rows of each optimizer step of a round. Each epoch takes every row once, in a new random order."""
        rng = np.random.default_rng((self.config.seed, number, 1))
        for _ in range(self.config.epochs):
            yield from torch.from_numpy(rng.permutation(self.config.batch_size)).split(self.config.minibatch_size)

    def step(self, loss: Tensor) -> None:
        """Take one step of the optimizer.

        Raises:
            CollapseError: the loss or its gradient is NaN or infinite.
        """
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norms = [
            float(nn.utils.clip_grad_norm_(part.parameters(), self.config.max_norm)) for part in self.parts.values()
        ]
        if not all(map(math.isfinite, (float(loss.detach()), *norms))):
            self._collapse("the loss or its gradient is NaN or infinite")
        self.optimizer.step()

    def tell(self, judged: Judged, **more: float) -> None:
        """Record a round's figures and adapt β. Put the policy back, or stop the run, if it is out of bounds.

        Raises:
            CollapseError: the KL per token is above `most_kl` once more after several setbacks, or the entropy is below
                `least_entropy`.
        """
        rollouts, kl = judged.rollouts, float(judged.kl.mean())
        kl_per_token = float(judged.kl.sum() / rollouts.loss_mask.sum())
        row = {
            "update": float(self.state.round + 1),
            "reward": float(judged.rewards.mean()),
            "kl": kl,
            "kl_per_token": kl_per_token,
            "entropy": judged.entropy,
            "length": float(rollouts.loss_mask.sum(dim=1).float().mean()),
            "distinct_2": distinct_n(rollouts.completion_ids, 2),
            "beta": self.beta,
            **more,
        }
        self._adaptive_beta.update(kl_per_token, len(judged.rewards))
        self.state.history.append(row | {"next_beta": self.beta})
        if self.observer:
            self.observer.on_update(row, (rollouts.prompts[0], rollouts.completions[0]))
        if kl_per_token > self.config.most_kl:
            self._put_back(
                f"completions are {kl_per_token:.2f} nats per token from the reference, and most_kl is "
                f"{self.config.most_kl}"
            )
        if judged.entropy < self.config.least_entropy:
            self._collapse(
                f"the choice of a token has an entropy of {judged.entropy:.4f} nats, and least_entropy is "
                f"{self.config.least_entropy}: the policy always writes the same"
            )

    def _put_back(self, why: str) -> None:
        """Go on from the best policy so far, with half the learning rate: one step too far has ruined this one."""
        if self.state.setbacks == _MOST_SETBACKS:
            self._collapse(why)
        self.state.setbacks += 1
        self.parts.load_state_dict(self.best)
        self.optimizer.state.clear()
        if self.observer:
            self.observer.on_message(
                f"round {self.state.round + 1}: {why}. The best policy so far, of round {self.state.best_round}, is "
                "put back, and the learning rate is halved"
            )

    def _collapse(self, why: str) -> NoReturn:
        raise CollapseError(
            f"stopped in round {self.state.round + 1}: {why}. The best policy so far, of round "
            f"{self.state.best_round}, is kept. Try a higher beta, a lower learning_rate, or fewer updates"
        )

    def _look_is_due(self) -> bool:
        """Whether to evaluate now.

        The start is evaluated too: its figures are the first to improve on. An evaluation in which the reward failed is
        still due.
        """
        on_time = self.state.round % self.config.evaluate_every == 0 or self.state.round == self.config.updates
        return not self.best or (on_time and "held_out_reward" not in self.state.history[-1])

    def _look(self) -> None:
        """Evaluate the policy on held-out prompts, and keep it if its reward − β·KL is the highest so far.

        If there is a referee, it gives that reward.
        """
        judged = self._judged(self.held_out, seed=self.config.seed)
        rewards, kl = float(judged.rewards.mean()), float(judged.kl.mean())
        referee = self.reward.referee
        chosen_by = rewards if referee is None else float(referee(judged.rollouts).mean())
        worth = chosen_by - self.config.beta * kl  # not the adaptive β: evaluations must be comparable
        if not self.state.history:
            self.state.history.append({"update": 0.0, "next_beta": self.beta})
        row = self.state.history[-1]
        row |= {"held_out_reward": rewards, "held_out_kl": kl} | _form(judged, self.held_out)
        if referee is not None:
            row["held_out_referee"] = chosen_by
        if self.state.best_worth is None or worth > self.state.best_worth:
            self.state.best_worth, self.state.best_round = worth, self.state.round
            self.best = {name: tensor.detach().clone() for name, tensor in self.parts.state_dict().items()}
        if self.observer:
            refereed = "" if referee is None else f", the referee's {chosen_by:.4f}"
            self.observer.on_message(
                f"round {self.state.round}: on {self._where} prompts reward {rewards:.4f}{refereed}, KL {kl:.2f} nats"
            )
            signs = signs_of_collapse(self.state.history)
            for sentence in told({what: since for what, since in signs.items() if since == self.state.round}):
                self.observer.on_message(f"warning: {sentence}")

    def _count_seconds(self) -> None:
        """Add the time since the last call. Evaluations count too: they call the reward, perhaps the slowest part."""
        now = time.perf_counter()
        self.state.seconds += now - self._counted_until
        self._counted_until = now

    def _try_to_save(self) -> None:
        """Save, or warn once and continue: a full disk may have room again at the next save."""
        try:
            self._save()
        except CheckpointError as error:
            if self.observer and not self._warned:
                self.observer.on_message(f"warning: {error}. Steering continues")
            self._warned = True

    def _save(self) -> None:
        self._count_seconds()
        if self.checkpoint is not None:
            save_checkpoint(self.checkpoint, self.state, self.parts, self.best, [self.optimizer])


def _form(judged: Judged, prompts: Sequence[str]) -> dict[str, float]:
    """Return figures of answers to held-out prompts: what the exact judge says, and what shows a collapse."""
    rollouts, mask = judged.rollouts, judged.rollouts.loss_mask
    figures = {name: fmean(right) for name, right in exact_verdicts(rollouts).items()} | {
        "length": float(mask.sum()) / len(prompts),
        "distinct": len(set(zip(prompts, rollouts.completions, strict=True))) / len(prompts),
        "entropy": judged.entropy,
        "start_logprob": float(judged.reference_logprobs[mask].mean()),
    }
    return {f"held_out_{name}": value for name, value in figures.items()}


def check_room(prompts: Sequence[str], tokenizer: TextTokenizer, max_tokens: int, max_seq_len: int) -> None:
    """Check that each prompt and `max_tokens` fit into the window together.

    Raises:
        UsageError: a prompt leaves no room for `max_tokens`.
    """
    for prompt, ids in zip(prompts, tokenizer.encode(prompts), strict=True):
        if 1 + len(ids) + max_tokens > max_seq_len:
            raise UsageError(
                f"the prompt {prompt[:40]!r} has {len(ids):,} tokens and leaves no room for max_tokens = {max_tokens} "
                f"in the window of {max_seq_len:,}; shorten the prompt, lower training.max_tokens, or name other "
                "prompts with `prompts=`"
            )
