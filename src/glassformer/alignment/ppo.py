"""Proximal policy optimisation of a language model (Schulman et al. 2017; for texts Ziegler et al. 2019).

Each round the policy writes, a reward judges whole completions, and the policy is moved towards what did better than
its own value head expected, token by token, within a clipped distance.

How it differs from the papers:
- values are a linear head on the policy's hidden states, which its loss does not shape: Ouyang et al. (2022) have a
  second model, and a loss in units of reward² that reaches the policy's weights unlearns the language;
- the KL from the reference is part of the reward at each token (Ziegler et al. 2019), its price fixed or adaptive;
- no entropy bonus, no dropout;
- the policy that is kept is the best on held-out prompts by reward less the price of KL, not the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from torch import nn

from glassformer.alignment.advantages import generalised_advantages, per_token_rewards, whiten
from glassformer.alignment.alignment_config import PPOConfig
from glassformer.alignment.judged import Reward
from glassformer.alignment.losses import clipped_policy_loss, clipped_value_loss
from glassformer.alignment.rollouts import read_rollouts
from glassformer.alignment.steering import Steered, Steering, SteeringObserver
from glassformer.data.tokenizers import TextTokenizer
from glassformer.models.language_model import LanguageModel


def ppo(
    policy: LanguageModel,
    tokenizer: TextTokenizer,
    reward: Reward,
    prompts: Sequence[str],
    config: PPOConfig,
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
    values_of = nn.Linear(policy.trunk.d_model, 1).to(next(policy.parameters()).device)
    nn.init.zeros_(values_of.weight)
    nn.init.zeros_(values_of.bias)
    run = Steering(
        policy, tokenizer, reward, prompts, config,
        max_seq_len=max_seq_len, beside={"value_head": values_of}, observer=observer, checkpoint=checkpoint,
    )  # fmt: skip
    with run:
        for number in run.rounds():
            old = run.write(number)
            mask, old_values = old.rollouts.loss_mask, values_of(old.hidden)[..., 0].detach()
            per_token = per_token_rewards(old.rewards, old.logprobs, old.reference_logprobs, mask, run.beta)
            advantages, returns = generalised_advantages(per_token, old_values, mask, config.gamma, config.lam)
            advantages = whiten(advantages, mask)
            clipped, value_losses = [], []
            for rows in run.minibatches(number):
                _, logprobs, hidden = read_rollouts(policy, old.rollouts.rows(rows))
                policy_loss, share = clipped_policy_loss(
                    logprobs, old.logprobs[rows], advantages[rows], mask[rows], config.clip
                )
                value_loss = clipped_value_loss(
                    values_of(hidden.detach())[..., 0], old_values[rows], returns[rows], mask[rows], config.value_clip
                )
                run.step(policy_loss + value_loss)  # which share no weight
                clipped.append(float(share))
                value_losses.append(float(value_loss.detach()))
            run.tell(old, clip_share=fmean(clipped), value_loss=fmean(value_losses))
    return run.outcome
