"""Proximal policy optimisation of a language model (Schulman et al. 2017; for texts Ziegler et al. 2019).

In each round the policy writes completions and the reward judges them. Training makes those tokens likelier that did
better than the value head expected, within a clipped distance.

How it differs from the papers:
- the value head is linear and reads the policy's hidden states; its loss does not change the policy's weights. Ouyang
  et al. (2022) use a second model. If the value loss, in units of reward², reached the policy, it would unlearn the
  language;
- the KL from the reference is part of the reward at each token (Ziegler et al. 2019). Its weight β is fixed or
  adaptive;
- no entropy bonus, no dropout;
- the policy with the best reward − β·KL on held-out prompts is kept, not the last one.
"""

from statistics import fmean

from torch import nn

from glassformer.alignment.advantages import generalised_advantages, per_token_rewards, whiten
from glassformer.alignment.alignment_config import PPOConfig
from glassformer.alignment.losses import clipped_policy_loss, clipped_value_loss
from glassformer.alignment.rollouts import read_rollouts
from glassformer.alignment.steering import Steering
from glassformer.models.language_model import LanguageModel


def value_head(policy: LanguageModel) -> dict[str, nn.Module]:
    """Return the head that a run of PPO trains beside its policy. At first it expects the reward 0."""
    values_of = nn.Linear(policy.trunk.d_model, 1).to(next(policy.parameters()).device)
    nn.init.zeros_(values_of.weight)
    nn.init.zeros_(values_of.bias)
    return {"value_head": values_of}


def ppo(run: Steering[PPOConfig]) -> None:
    """Train the policy of a run, and the `value_head` beside it, in place (see `Steering`)."""
    config, values_of = run.config, run.parts["value_head"]
    with run:
        for number in run.rounds():
            old = run.write(number)
            mask, old_values = old.rollouts.loss_mask, values_of(old.hidden)[..., 0].detach()
            per_token = per_token_rewards(old.rewards, old.logprobs, old.reference_logprobs, mask, run.beta)
            advantages, returns = generalised_advantages(per_token, old_values, mask, config.gamma, config.lam)
            advantages = whiten(advantages, mask)
            clipped, value_losses = [], []
            for rows in run.minibatches(number):
                _, logprobs, hidden = read_rollouts(run.policy, old.rollouts.rows(rows))
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
