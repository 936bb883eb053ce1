"""Group relative policy optimisation of a language model (Shao et al. 2024, §4.1).

Each round the policy writes several completions of each prompt, and is moved towards those that were judged better than
the others of their group. There is no value head: the group is the expectation.

How it differs from the paper:
- the KL from the reference is part of what a group is compared by (k₁, as a reward), not a term k₃ of the loss, whose
  gradient is that of the KL in the other direction; so the policy that is sought is the one that PPO seeks;
- advantages are divided by one σ, that of the batch, as PPO whitens its own, not by one for each group: where all
  completions of a prompt are judged alike, only the KL from the reference differs, the σ of the group is that of its
  noise, and a nat would cost many times what `beta` says (Liu et al. 2025 show the bias and leave σ out altogether; one
  for all keeps the size of a step that the learning rate is made for);
- the mean of the loss is over all tokens of the batch: the paper's mean per completion first favours long bad ones
  (Liu et al. 2025);
- the policy that is kept is the best on held-out prompts by reward less the price of KL, not the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from glassformer.alignment.advantages import group_relative_advantages
from glassformer.alignment.alignment_config import GRPOConfig
from glassformer.alignment.divergence import kl_k1
from glassformer.alignment.judged import Reward
from glassformer.alignment.losses import clipped_policy_loss
from glassformer.alignment.rollouts import read_rollouts
from glassformer.alignment.steering import Steered, Steering, SteeringObserver
from glassformer.data.tokenizers import TextTokenizer
from glassformer.models.language_model import LanguageModel


def grpo(
    policy: LanguageModel,
    tokenizer: TextTokenizer,
    reward: Reward,
    prompts: Sequence[str],
    config: GRPOConfig,
    *,
    max_seq_len: int,
    observer: SteeringObserver | None = None,
    checkpoint: Path | None = None,
) -> Steered:
    """Steer `policy`, in place, towards what `reward` likes, near to what it was. In the end it is the best of the run.

    Raises:
        InterruptedTraining: on Ctrl-C; a run with a checkpoint goes on from there when it is called again.
        UsageError: a prompt does not fit.
        GlassformerError: the policy answers with what is no number from the start, or the checkpoint is damaged;
            besides whatever the reward raises.
    """
    run = Steering(
        policy, tokenizer, reward, prompts, config, max_seq_len=max_seq_len, observer=observer, checkpoint=checkpoint
    )
    with run:
        for number in run.rounds():
            old = run.write(number, group_size=config.group_size)
            mask = old.rollouts.loss_mask
            # k₁, not the exact KL: what is rewarded is what was drawn.
            drawn_kl = kl_k1(old.logprobs, old.reference_logprobs, mask).sum(dim=1)
            groups = (old.rewards - run.beta * drawn_kl).view(-1, config.group_size)
            advantages = group_relative_advantages(groups).view(-1, 1).expand_as(old.logprobs)
            clipped = []
            for rows in run.minibatches(number):
                _, logprobs, _ = read_rollouts(policy, old.rollouts.rows(rows))
                loss, share = clipped_policy_loss(
                    logprobs, old.logprobs[rows], advantages[rows], mask[rows], config.clip
                )
                run.step(loss)
                clipped.append(float(share))
            run.tell(old, clip_share=fmean(clipped))
    return run.outcome
