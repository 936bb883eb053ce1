"""Group relative policy optimisation of a language model (Shao et al. 2024, §4.1).

In each round the policy writes several completions of each prompt, and training makes those likelier that were judged
better than the others of their group. There is no value head: the mean of the group is the expected reward.

How it differs from the paper:
- the KL from the reference is part of the reward (k₁), not a term k₃ of the loss. The gradient of k₃ is that of the KL
  in the other direction; with k₁, GRPO and PPO look for the same policy;
- advantages are divided by one σ for the whole batch, as in PPO, not by one per group. If all completions of a prompt
  get the same reward, only the KL differs within the group; its σ is then noise, and a nat would cost many times more
  than `beta`. Liu et al. 2025 show this bias and leave σ out; one σ for the batch keeps the step size that fits the
  learning rate;
- the loss is averaged over all tokens of the batch. The paper averages per completion first, which favours long bad
  completions (Liu et al. 2025);
- the policy with the best reward − β·KL on held-out prompts is kept, not the last one.
"""

from statistics import fmean

from glassformer.alignment.advantages import group_relative_advantages
from glassformer.alignment.alignment_config import GRPOConfig
from glassformer.alignment.divergence import log_ratios
from glassformer.alignment.losses import clipped_policy_loss
from glassformer.alignment.rollouts import read_rollouts
from glassformer.alignment.steering import Steering


def grpo(run: Steering[GRPOConfig]) -> None:
    """Train the policy of a run in place (see `Steering`)."""
    config = run.config
    with run:
        for number in run.rounds():
            old = run.write(number, group_size=config.group_size)
            mask = old.rollouts.loss_mask
            # k₁, not the exact KL: what is rewarded is what was drawn.
            drawn_kl = log_ratios(old.logprobs, old.reference_logprobs, mask).sum(dim=1)
            groups = (old.rewards - run.beta * drawn_kl).view(-1, config.group_size)
            advantages = group_relative_advantages(groups).view(-1, 1).expand_as(old.logprobs)
            clipped = []
            for rows in run.minibatches(number):
                _, logprobs, _ = read_rollouts(run.policy, old.rollouts.rows(rows))
                loss, share = clipped_policy_loss(
                    logprobs, old.logprobs[rows], advantages[rows], mask[rows], config.clip
                )
                run.step(loss)
                clipped.append(float(share))
            run.tell(old, clip_share=fmean(clipped))
