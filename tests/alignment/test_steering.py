import signal
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer.alignment import steering as steering_module
from glassformer.alignment.alignment_config import GRPOConfig, PolicyConfig, PPOConfig
from glassformer.alignment.grpo import grpo
from glassformer.alignment.judged import Reward
from glassformer.alignment.ppo import ppo, value_head
from glassformer.alignment.rollouts import Rollouts
from glassformer.alignment.steering import Steering
from glassformer.data.tokenizers import PAD_ID, UNKNOWN_ID, TextTokenizer, TokenizerConfig
from glassformer.errors import GlassformerError, UsageError
from glassformer.models.language_model import LanguageModel
from glassformer.models.model_config import LanguageModelConfig
from glassformer.training.loop import InterruptedTraining
from tests.support import randomise

TOKENIZER = TextTokenizer.train(["a b c"], TokenizerConfig(min_frequency=1, numbering="appearance"))
A = 3
WINDOW = 9
PROMPTS = [" ".join(words) for words in ("", "a", "b", "c", "aa", "ab", "ac", "ba", "bb", "bc", "ca", "cb")]
LOOK = 7
"""Completions at a look at the held-out prompts; a round has twelve."""
Weights = dict[str, Tensor]


@pytest.fixture(autouse=True)
def _prompts_are_held_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although there are few."""
    monkeypatch.setattr(steering_module, "FEWEST_PROMPTS", 10)


def new_policy() -> LanguageModel:
    """The same each time."""
    torch.manual_seed(5)
    shape = LanguageModelConfig(d_model=8, n_layers=1, n_heads=2, d_ff=12, max_seq_len=WINDOW)
    return randomise(LanguageModel(shape, TOKENIZER.vocab_size), std=0.3).eval()


def weights(policy: LanguageModel) -> Weights:
    return {name: tensor.clone() for name, tensor in policy.state_dict().items()}


def equal(one: Weights, other: Weights) -> bool:
    return one.keys() == other.keys() and all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def config(algorithm: str, **values: Any) -> Any:
    defaults: dict[str, Any] = {
        "updates": 5, "batch_size": 12, "minibatch_size": 5, "epochs": 1, "max_tokens": 4,
        "held_out_completions": LOOK, "evaluate_every": 2, "held_out": 0.25, "beta": 0.1, "target_kl": None,
        "most_kl": 50.0,
    }  # fmt: skip
    rate = {"learning_rate": values.pop("learning_rate", 0.01)}  # unchecked: some must be beyond what is allowed
    made = PPOConfig(**defaults | values) if algorithm == "ppo" else GRPOConfig(group_size=4, **defaults | values)
    return made.model_copy(update=rate)


def run(
    algorithm: str, policy: LanguageModel, judge: Callable[[Rollouts], Tensor], *, prompts: Sequence[str] = PROMPTS,
    checkpoint: Path | None = None, observer: Any = None, fingerprint: str = "", **values: Any,
) -> Steering[Any]:  # fmt: skip
    reward = Reward(judge=judge, fingerprint=fingerprint)
    one: Steering[Any] = Steering(
        policy, TOKENIZER, reward, prompts, config(algorithm, **values), max_seq_len=WINDOW,
        beside=value_head(policy) if algorithm == "ppo" else {}, checkpoint=checkpoint, observer=observer,
    )  # fmt: skip
    (ppo if algorithm == "ppo" else grpo)(one)
    return one


def likes_a(rollouts: Rollouts) -> Tensor:
    """How often 'a' was written."""
    return torch.tensor([float(ids.count(A)) for ids in rollouts.completion_ids])


class FailsAt:
    """The same reward, but for one call."""

    def __init__(self, call: int) -> None:
        self.call, self.calls = call, 0

    def __call__(self, rollouts: Rollouts) -> Tensor:
        self.calls += 1
        if self.calls == self.call:
            raise ConnectionError("the judge is not at home")
        return likes_a(rollouts)


class Scripted:
    """What each look at the held-out prompts finds; remembers the policy that was looked at."""

    def __init__(self, policy: LanguageModel, found: list[float]) -> None:
        self.policy, self.found, self.seen = policy, found, list[Weights]()

    def __call__(self, rollouts: Rollouts) -> Tensor:
        if len(rollouts.prompts) != LOOK:
            return likes_a(rollouts)
        self.seen.append(weights(self.policy))
        return torch.full((LOOK,), self.found[len(self.seen) - 1])


class Hears:
    """An observer that remembers, and may press Ctrl-C after a round."""

    def __init__(self, interrupt: int | None = None) -> None:
        self.interrupt = interrupt
        self.rows: list[dict[str, float]] = []
        self.samples: list[tuple[str, str]] = []
        self.messages: list[str] = []

    def on_update(self, row: dict[str, float], sample: tuple[str, str]) -> None:
        self.rows.append(row)
        self.samples.append(sample)
        if row["update"] == self.interrupt:
            signal.raise_signal(signal.SIGINT)

    def on_message(self, text: str) -> None:
        self.messages.append(text)


@cache
def uninterrupted(algorithm: str, target_kl: float | None = None) -> tuple[Steering[Any], Weights]:
    """A run of five rounds and four looks, and the policy that it leaves."""
    policy, reward = new_policy(), FailsAt(0)
    found = run(algorithm, policy, reward, target_kl=target_kl)
    assert reward.calls == 9
    return found, weights(policy)


ALGORITHMS = pytest.mark.parametrize("algorithm", ["ppo", "grpo"])


# Going on


@ALGORITHMS
@pytest.mark.parametrize("target_kl", [None, 0.5], ids=["fixed", "adaptive"])
@pytest.mark.parametrize("after", [[1], [2, 3], [4]], ids=str)
def test_interrupted_and_resumed_is_uninterrupted(
    algorithm: str, target_kl: float | None, after: list[int], tmp_path: Path
) -> None:
    expected, left = uninterrupted(algorithm, target_kl)
    file = tmp_path / "state.safetensors"
    for number in after:
        with pytest.raises(InterruptedTraining, match="stopped by Ctrl-C"):
            run(algorithm, new_policy(), likes_a, target_kl=target_kl, checkpoint=file, observer=Hears(number))
    resumed, hears = new_policy(), Hears()
    found = run(algorithm, resumed, likes_a, target_kl=target_kl, checkpoint=file, observer=hears)
    assert [row["update"] for row in hears.rows] == list(range(after[-1] + 1, 6)), "no round comes twice"
    assert found.state.history == expected.state.history
    assert (found.state.best_round, found.state.best_worth) == (expected.state.best_round, expected.state.best_worth)
    assert equal(weights(resumed), left)
    assert len({row["next_beta"] for row in found.state.history}) == (1 if target_kl is None else 6)


@ALGORITHMS
@pytest.mark.parametrize("call", [1, 2, 4, 5, 9])
def test_a_reward_that_fails_loses_nothing(algorithm: str, call: int, tmp_path: Path) -> None:
    """Whichever round or look it is, it is asked again and nothing else is."""
    expected, left = uninterrupted(algorithm)
    reward, resumed, file = FailsAt(call), new_policy(), tmp_path / "state.safetensors"
    with pytest.raises(ConnectionError):
        run(algorithm, new_policy(), reward, checkpoint=file)
    assert run(algorithm, resumed, reward, checkpoint=file).state.history == expected.state.history
    assert equal(weights(resumed), left)
    assert reward.calls == 10


def constant(rollouts: Rollouts) -> Tensor:
    """Of which there is nothing to be learned."""
    return torch.full((len(rollouts.prompts),), 100.0)


def broken_off(file: Path, *, by: int = 3, algorithm: str = "grpo") -> None:
    """A run by a constant reward that was stopped after a round."""
    with pytest.raises(InterruptedTraining):
        run(algorithm, new_policy(), constant, checkpoint=file, fingerprint="constant", observer=Hears(by))


@ALGORITHMS
def test_under_another_reward_the_best_so_far_is_forgotten(algorithm: str, tmp_path: Path) -> None:
    file, hears, policy = tmp_path / "state.safetensors", Hears(), new_policy()
    broken_off(file, algorithm=algorithm)
    found = run(algorithm, policy, likes_a, checkpoint=file, fingerprint="a", observer=hears).state
    assert hears.messages[0] == (
        "the reward changed since this run was saved after round 3: the best policy so far, of round 0, and the "
        "evaluations on held-out prompts are forgotten"
    )
    assert hears.messages[1].startswith("round 3: on held-out prompts reward "), "before anything is learned from it"
    looks = [row for row in found.history if "held_out_reward" in row]
    assert [row["update"] for row in looks] == [3, 4, 5]
    assert max(row["held_out_reward"] for row in looks) < 5
    worth = [row["held_out_reward"] - 0.1 * row["held_out_kl"] for row in looks]
    assert found.best_worth == max(worth)
    assert found.best_round == looks[worth.index(max(worth))]["update"]
    assert [row["update"] for row in found.history if "reward_changed" in row] == [3]
    again = Hears()
    run(algorithm, new_policy(), likes_a, checkpoint=file, fingerprint="a", observer=again)
    assert not any("changed" in text for text in again.messages)


@pytest.mark.parametrize("back", [False, True], ids=["mended once more", "and taken back"])
def test_no_figure_is_taken_for_one_by_another_reward_whatever_fails(back: bool, tmp_path: Path) -> None:
    file = tmp_path / "state.safetensors"
    broken_off(file)
    with pytest.raises(ConnectionError):
        run("grpo", new_policy(), FailsAt(1), checkpoint=file, fingerprint="fails")
    judge, name, look = (constant, "constant", 100.0) if back else (likes_a, "a", None)
    found = run("grpo", new_policy(), judge, checkpoint=file, fingerprint=name).state
    looks = [row for row in found.history if "held_out_reward" in row]
    assert [row["update"] for row in looks] == [3, 4, 5]
    assert {row["held_out_reward"] for row in looks} == {look} if back else max(map(_reward_of, looks)) < 5


def _reward_of(row: dict[str, float]) -> float:
    return row["held_out_reward"]


def test_the_same_reward_goes_on_without_a_word(tmp_path: Path) -> None:
    file, hears = tmp_path / "state.safetensors", Hears()
    broken_off(file)
    run("grpo", new_policy(), constant, checkpoint=file, fingerprint="constant", observer=hears)
    assert [text.partition(":")[0] for text in hears.messages] == ["round 4", "round 5"]


def test_the_seconds_are_those_of_rounds_and_looks_before_and_after_a_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock on which each judgement takes a second and nothing else any time."""
    clock, file = 1000.0, tmp_path / "state.safetensors"

    def judge(rollouts: Rollouts) -> Tensor:
        nonlocal clock
        clock += 1
        return likes_a(rollouts)

    monkeypatch.setattr(steering_module, "time", SimpleNamespace(perf_counter=lambda: clock))
    with pytest.raises(InterruptedTraining):
        run("grpo", new_policy(), judge, checkpoint=file, observer=Hears(3))
    clock += 500  # while nothing runs
    assert run("grpo", new_policy(), judge, checkpoint=file).state.seconds == 5 + 4


@ALGORITHMS
def test_the_seed_decides(algorithm: str) -> None:
    made = []
    for number, seed in enumerate([4, 4, 5]):
        policy = new_policy()
        torch.manual_seed(number)
        run(algorithm, policy, likes_a, seed=seed)
        made.append(weights(policy))
    assert equal(made[0], made[1])
    assert not equal(made[0], made[2])


# The best policy


@ALGORITHMS
@pytest.mark.parametrize("best", range(4))
def test_the_best_policy_of_all_looks_is_left_in_place(algorithm: str, best: int) -> None:
    policy = new_policy()
    reward = Scripted(policy, [4.0 if look == best else look / 10 for look in range(4)])
    found = run(algorithm, policy, reward, beta=0.0)
    assert len(reward.seen) == 4
    assert not equal(reward.seen[0], reward.seen[1])
    assert found.state.best_round == [0, 2, 4, 5][best]
    assert equal(weights(policy), reward.seen[best])
    looks = [row for row in found.state.history if "held_out_reward" in row]
    assert [row["update"] for row in looks] == [0, 2, 4, 5]
    assert [row["held_out_reward"] for row in looks] == pytest.approx(reward.found)
    assert looks[0]["held_out_kl"] == 0


@ALGORITHMS
@pytest.mark.parametrize("target_kl", [None, 0.01], ids=["fixed", "adaptive"])
def test_the_price_of_its_kl_is_taken_off(algorithm: str, target_kl: float | None) -> None:
    """At one price in all looks, also where the price moves."""
    policy, beta = new_policy(), 0.3
    reward = Scripted(policy, [0.0, 5.0, 5.01, 5.02])
    found = run(algorithm, policy, reward, beta=beta, learning_rate=0.1, target_kl=target_kl)
    looks = [row for row in found.state.history if "held_out_reward" in row]
    worth = [row["held_out_reward"] - beta * row["held_out_kl"] for row in looks]
    best = worth.index(max(worth))
    assert best == 1, "the one with the highest reward is too far away"
    assert found.state.best_worth == worth[best]
    assert found.state.best_round == looks[best]["update"]
    assert equal(weights(policy), reward.seen[best])


@ALGORITHMS
def test_it_learns_what_is_rewarded(algorithm: str) -> None:
    found = run(algorithm, new_policy(), likes_a, updates=8, learning_rate=0.02, beta=0.02, batch_size=32)
    rows = found.state.history
    assert found.collapsed is None
    assert rows[-1]["reward"] > rows[1]["reward"] + 1
    assert rows[-1]["held_out_reward"] > rows[0]["held_out_reward"] + 1


@pytest.mark.parametrize("beta", [0.3, 3.0], ids=["too low", "too high"])
def test_an_adaptive_price_leads_to_its_target(beta: float) -> None:
    """Within a hundred rounds."""
    kl = []
    for target, updates in ((0.15, 100), (None, 40)):
        found = run(
            "grpo", new_policy(), likes_a, beta=beta, target_kl=target, updates=updates, batch_size=16,
            minibatch_size=16, max_tokens=2, least_entropy=0, evaluate_every=50,
        )  # fmt: skip
        kl.append(sum(row["kl_per_token"] for row in found.state.history[-20:]) / 20)
    assert abs(kl[0] - 0.15) < 0.05
    assert abs(kl[1] - 0.15) > 0.12


# The end of a run that goes wrong


@ALGORITHMS
def test_far_from_the_reference_it_is_put_back_and_stops_the_fourth_time(algorithm: str) -> None:
    policy, hears = new_policy(), Hears()
    reward = Scripted(policy, [1.0, 2.0, *[0.0] * 150])
    found = run(algorithm, policy, reward, learning_rate=0.2, most_kl=0.6, beta=0.0, updates=300, observer=hears)
    assert found.collapsed is not None
    far = [number for number, row in enumerate(hears.rows, 1) if row["kl_per_token"] > 0.6]
    last = len(hears.rows)
    assert (len(far), found.state.setbacks, far[-1]) == (4, 3, last)
    assert hears.rows[far[0]]["kl_per_token"] < 0.6, "it went on from the best policy"
    put_back = [said for said in hears.messages if "is put back, and the learning rate is halved" in said]
    assert [said.partition(":")[0] for said in put_back] == [f"round {number}" for number in far[:3]]
    reached = hears.rows[-1]["kl_per_token"]
    assert f"stopped in round {last}: completions are {reached:.2f} nats per token from" in found.collapsed
    assert "and most_kl is 0.6. The best policy so far, of round 2, is kept. Try a higher beta" in found.collapsed
    assert equal(weights(policy), reward.seen[1])


@ALGORITHMS
def test_where_it_always_says_the_same_it_stops(algorithm: str) -> None:
    policy = new_policy()
    before = weights(policy)
    found = run(algorithm, policy, likes_a, least_entropy=9.0)
    assert found.collapsed is not None
    assert "stopped in round 1: the choice of a token has an entropy of 1." in found.collapsed
    assert (
        "and least_entropy is 9.0: the policy always writes the same. The best policy so far, of round 0"
        in found.collapsed
    )
    assert equal(weights(policy), before)


@ALGORITHMS
def test_where_a_step_is_no_number_it_stops(algorithm: str) -> None:
    policy = new_policy()
    before = weights(policy)
    found = run(algorithm, policy, lambda rollouts: torch.full((len(rollouts.prompts),), torch.nan))
    assert found.collapsed is not None
    assert "stopped in round 1: the loss or its gradient is NaN or infinite" in found.collapsed
    assert equal(weights(policy), before)


@ALGORITHMS
@pytest.mark.parametrize("evaluate_every", [1, 2], ids=["at a look", "in a round"])
def test_where_the_policy_answers_with_no_number_it_stops(algorithm: str, evaluate_every: int) -> None:
    policy = new_policy()
    before = weights(policy)
    found = run(
        algorithm, policy, likes_a, learning_rate=float("inf"), minibatch_size=12, evaluate_every=evaluate_every
    )  # fmt: skip
    assert found.collapsed is not None
    assert "stopped in round 2: the model gives NaN or infinite logits" in found.collapsed
    assert equal(weights(policy), before)
    torch.nn.init.constant_(policy.get_parameter("trunk.norm.weight"), torch.nan)
    with pytest.raises(GlassformerError, match="NaN or infinite logits"):
        run(algorithm, policy, likes_a)


@ALGORITHMS
def test_other_errors_are_not_swallowed(algorithm: str) -> None:
    with pytest.raises(ConnectionError):
        run(algorithm, new_policy(), FailsAt(3))


# Its parts


@ALGORITHMS
def test_a_prompt_that_leaves_no_room_is_refused(algorithm: str) -> None:
    fits = "a " * 4  # with the start token and four to be written: nine
    run(algorithm, new_policy(), likes_a, prompts=[fits], updates=1)
    with pytest.raises(UsageError, match=r"the prompt 'a a a a a ' has 5 tokens and leaves no room for max_tokens = 4"):
        run(algorithm, new_policy(), likes_a, prompts=[fits, f"{fits}a "], updates=1)


@ALGORITHMS
def test_one_prompt_is_enough(algorithm: str) -> None:
    found = run(algorithm, new_policy(), likes_a, prompts=[""], updates=2)
    assert [row["update"] for row in found.state.history] == [0, 1, 2]


@ALGORITHMS
def test_what_an_observer_hears(algorithm: str) -> None:
    hears = Hears()
    found = run(algorithm, new_policy(), likes_a, observer=hears, target_kl=0.5)
    assert [row["update"] for row in hears.rows] == [1, 2, 3, 4, 5]
    common = {"update", "reward", "kl", "kl_per_token", "entropy", "length", "distinct_2", "beta", "clip_share"}
    assert all(row.keys() == common | ({"value_loss"} if algorithm == "ppo" else set()) for row in hears.rows)
    assert hears.rows[0]["kl"] == 0
    assert [row["beta"] for row in hears.rows[1:]] == [row["next_beta"] for row in found.state.history[1:-1]]
    assert hears.rows[1]["beta"] == pytest.approx(0.1 * (1 - 0.2 / 8))
    assert [text.partition(":")[0] for text in hears.messages] == ["round 0", "round 2", "round 4", "round 5"]
    assert all("on held-out prompts reward" in text for text in hears.messages)
    assert {prompt for prompt, _ in hears.samples} <= set(PROMPTS)

    hears = Hears()
    run(algorithm, new_policy(), likes_a, observer=hears, prompts=PROMPTS[:9])
    assert "on its prompts reward" in hears.messages[0]


def steering(
    policy: LanguageModel | None = None, *, prompts: Sequence[str] = PROMPTS, **values: Any
) -> Steering[PolicyConfig]:
    settings: PolicyConfig = config("ppo", **values)
    reward = Reward(judge=likes_a, fingerprint="")
    return Steering(policy or new_policy(), TOKENIZER, reward, prompts, settings, max_seq_len=WINDOW)


def test_the_reference_is_what_the_policy_was() -> None:
    policy = new_policy()
    before = weights(policy)
    with steering(policy) as one:
        for number in one.rounds():
            judged = one.write(number)
            one.step(policy(judged.rollouts.token_ids, judged.rollouts.attention_mask).square().mean())
            one.tell(judged)
        assert equal(weights(one.reference), before)
        assert not any(parameter.requires_grad for parameter in one.reference.parameters())
        assert not equal(weights(policy), before)
        again = one.write(2)
        assert again.kl.abs().max() > 1e-3
        assert not torch.equal(again.logprobs, again.reference_logprobs)


def test_the_figures_of_a_round_are_exact_at_every_place() -> None:
    """KL and entropy by a sum over the vocabulary, text by text and place by place."""
    one = steering()
    randomise(one.policy, std=0.4)
    judged = one.write(3)
    entropies: list[float] = []
    for row, (ids, length) in enumerate(
        zip(judged.rollouts.token_ids, judged.rollouts.attention_mask.sum(dim=1).tolist(), strict=True)
    ):
        read = ids[None, : length - 1]
        both = [model(read, torch.ones_like(read, dtype=torch.bool))[0] for model in (one.policy, one.reference)]
        for logits in both:
            logits[:, [PAD_ID, UNKNOWN_ID]] = -1e9
        policy, reference = (logits.log_softmax(-1) for logits in both)
        written = judged.rollouts.loss_mask[row, : length - 1]
        kl = (policy.exp() * (policy - reference)).sum(-1)[written]
        assert judged.kl[row].item() == pytest.approx(kl.sum().item(), rel=1e-4)
        entropies += (-policy.exp() * policy).sum(-1)[written].tolist()
    assert judged.entropy == pytest.approx(sum(entropies) / len(entropies), rel=1e-4)
    assert judged.kl.min() > 0


def test_what_a_round_writes_is_a_function_of_seed_and_round() -> None:
    def written(number: int, **values: Any) -> tuple[list[str], list[list[int]]]:
        """What was asked, and the answers."""
        found = steering(**values).write(number, group_size=3).rollouts
        return found.prompts, found.completion_ids

    assert written(2) == written(2)
    assert written(2)[0] != written(3)[0]
    assert written(2, prompts=[""])[1] != written(2, prompts=[""], seed=1)[1]
    prompts, completions = written(2)
    assert [prompts[i : i + 3] for i in range(0, 12, 3)] == [[prompts[i]] * 3 for i in range(0, 12, 3)]
    assert completions[:3] != [completions[0]] * 3
    one = steering()
    assert len(one.prompts) == 9
    assert not set(one.prompts) & set(one.held_out)
    assert len(one.held_out) == LOOK
    asked = {prompt for number in range(20) for prompt in one.write(number).rollouts.prompts}
    assert asked == set(one.prompts), "held-out prompts are never learned from"


def test_each_epoch_of_a_round_takes_every_completion_once() -> None:
    one = steering(epochs=2)
    parts = [rows.tolist() for rows in one.minibatches(1)]
    assert [len(part) for part in parts] == [5, 5, 2] * 2
    epochs = [sum(parts[:3], []), sum(parts[3:], [])]  # noqa: RUF017
    assert [sorted(epoch) for epoch in epochs] == [list(range(12))] * 2
    assert epochs[0] != epochs[1]
    assert parts == [rows.tolist() for rows in steering(epochs=2).minibatches(1)]
    assert parts != [rows.tolist() for rows in one.minibatches(2)]


def test_the_learning_rate_falls_to_nothing() -> None:
    rates: list[float] = []
    with steering(updates=4, learning_rate=0.08) as one:
        for number in one.rounds():
            rates.append(one.optimizer.param_groups[0]["lr"])
            one.tell(one.write(number))
    assert rates == pytest.approx([0.08, 0.06, 0.04, 0.02])


def test_what_the_value_head_learns_does_not_reach_the_policy() -> None:
    """Where every token did as well as every other, there is nothing else to learn."""
    policy, looks = new_policy(), 0

    def equal_in_a_round(rollouts: Rollouts) -> Tensor:
        nonlocal looks
        looks += len(rollouts.prompts) == LOOK
        return torch.full((len(rollouts.prompts),), 3.0 if len(rollouts.prompts) != LOOK else float(looks))

    before = weights(policy)
    found = run("ppo", policy, equal_in_a_round, updates=1, epochs=2, beta=0.0, lam=1.0, minibatch_size=12)
    assert found.state.best_round == 1, "it is not the start that is left in place"
    assert 4 < found.state.history[1]["value_loss"] < 4.5, "at first half of 3 less 0, squared"
    assert equal(weights(policy), before)


def test_gradients_are_clipped_apart() -> None:
    """A value head that is far off does not slow the policy down."""
    policy, head = new_policy(), torch.nn.Linear(8, 1)
    one = Steering(
        policy, TOKENIZER, Reward(judge=likes_a, fingerprint=""), PROMPTS, config("ppo", max_norm=0.5),
        max_seq_len=WINDOW, beside={"head": head},
    )  # fmt: skip
    ids = torch.tensor([[2, 3, 4]])
    loss = policy(ids, torch.ones_like(ids, dtype=torch.bool)).square().sum()
    one.step(loss + 1e6 * head(torch.ones(8)).sum())
    for part in (policy, head):
        norm = torch.stack([p.grad.norm() for p in part.parameters() if p.grad is not None]).norm()
        assert float(norm) == pytest.approx(0.5, rel=1e-4)
