import dataclasses
import math
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from glassformer.data.store import TokenStore
from glassformer.doctor.bench import Bench
from glassformer.doctor.findings import Finding
from glassformer.doctor.judge import _shares, check_initial_loss, check_signals
from glassformer.doctor.signals import measure_signals
from glassformer.layers.feedforward import FeedForward
from glassformer.models.build import build_model
from glassformer.models.model_config import SeveralTextsConfig
from glassformer.models.published.bui_dang import BuiDangRowsConfig
from glassformer.models.published.sentiment140 import Sentiment140Config
from tests.doctor.samples import MODEL, N_CLASSES, VOCAB_SIZE, bench, by_check, easy_data, problems, scaled


@pytest.fixture(autouse=True)
def _fewer_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.doctor.signals.STEPS", 30)


def signals_of(tried: Bench) -> list[Finding]:
    return check_signals(measure_signals(tried, seconds=60))


def test_the_first_loss_of_a_healthy_model() -> None:
    finding = check_initial_loss(bench())
    assert finding.level == "good"
    assert f"{math.log(N_CLASSES):.3f}" in finding.found
    assert f"(ln {N_CLASSES})" in finding.found


def test_a_saturated_start_is_named() -> None:
    tried = bench(model=scaled(bench().model, 8))
    first = check_initial_loss(tried)
    assert first.level == "problem"
    assert "confidently wrong" in first.advice
    findings = by_check(signals_of(tried))
    assert findings["attention at the start"].level == "problem"
    assert "trunk.blocks.0.attention (weights)" in findings["attention at the start"].found


def test_a_logit_that_no_label_has_counts_as_a_chance() -> None:
    model = build_model(Sentiment140Config(d_model=8, n_layers=1, n_heads=2, d_ff=12), VOCAB_SIZE, N_CLASSES)
    nn.init.zeros_(model.get_submodule("classifier").get_parameter("weight"))
    nn.init.zeros_(model.get_submodule("classifier").get_parameter("bias"))
    tried = bench(model=model)
    finding = check_initial_loss(tried)
    labels = torch.from_numpy(tried.data.train_labels)
    shares = labels.bincount() / len(labels)
    assert finding.level == "good"
    assert "the first loss is 1.386; equal chances for every label give 1.386 (ln 4)" in finding.found
    assert f"of each label gives {-float((shares * shares.log()).sum()):.3f}" in finding.found


def test_class_weights_leave_the_reference_at_the_logarithm_of_the_classes() -> None:
    finding = check_initial_loss(bench(data=easy_data(weights=[0.2, 3.0, 1.0])))
    assert finding.level == "good"
    assert "give 1.099 (ln 3), and knowing" in finding.found


def test_several_labels_per_text_have_a_reference_of_their_own() -> None:
    weights = [1.0, 4.0, 2.0]
    tried = bench(data=easy_data(multilabel=True, weights=weights))
    labels = torch.cat([tried.labels(batch) for batch in tried.sample(4)]).float()
    expected = float((labels * torch.tensor(weights) + 1 - labels).mean()) * math.log(2)
    finding = check_initial_loss(tried)
    assert finding.level == "good"
    assert f"give {expected:.3f}, and knowing" in finding.found


def test_knowing_the_shares_is_the_entropy_of_the_labels() -> None:
    data = easy_data()
    labels = data.train_labels.copy()
    labels[labels == 2] = 0
    tried = bench(data=dataclasses.replace(data, train_labels=labels))
    shares = torch.from_numpy(labels).bincount() / len(labels)  # of all rows, not of the batches of the first loss
    entropy = -float((shares * shares.log()).sum())
    assert f"of each label gives {entropy:.3f}" in check_initial_loss(tried).found


def test_a_healthy_model_has_no_problem_and_its_zero_start_is_explained() -> None:
    findings = signals_of(bench())
    assert problems(findings) == set()
    gradients = by_check(findings)["gradients after 30 steps"]
    assert gradients.level == "good"
    assert "start at zero by design" in gradients.found


def after_steps(model: nn.Module, **training: Any) -> Finding:
    return by_check(signals_of(bench(model=model, **training)))["gradients after 30 steps"]


def test_parameters_that_a_softmax_cancels_get_nothing_but_rounding_noise() -> None:
    finding = after_steps(build_model(BuiDangRowsConfig(), VOCAB_SIZE, N_CLASSES), optimizer="sgd", learning_rate=0.03)
    assert finding.level == "worth knowing"
    assert finding.found.endswith("but only rounding noise reaches beta_self, beta_feed and bl")
    assert "could be left out" in finding.advice


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "layer", "residual": "post-norm", "positions": "learned", "feed_forward": "relu"},
        {"norm": "batch", "pooling": "attention", "attention": "causal", "feed_forward": "glu"},
    ],
)
def test_every_parameter_of_ours_gets_a_gradient(changes: dict[str, object]) -> None:
    finding = after_steps(build_model(MODEL.model_copy(update=changes), VOCAB_SIZE, N_CLASSES))
    assert finding.level == "good"
    assert "rounding" not in finding.found


class Whisper(nn.Module):
    """Beside what it reads: one parameter is hardly heard, one moves all logits alike, one is never used."""

    def __init__(self, *, idle: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB_SIZE, 4)
        self.head = nn.Linear(4, N_CLASSES, bias=False)
        self.whisper, self.shift = nn.Parameter(torch.zeros(N_CLASSES)), nn.Parameter(torch.zeros(1))
        self.idle = nn.Parameter(torch.zeros(7)) if idle else None

    def forward(self, token_ids: Tensor, _attention_mask: Tensor) -> Tensor:
        return self.head(self.embedding(token_ids)[:, 1]) + 1e-8 * self.whisper + self.shift


def test_a_gradient_below_the_noise_of_another_is_none() -> None:
    finding = after_steps(Whisper(idle=False))
    assert finding.found.endswith("rounding noise reaches shift")


def test_texts_without_a_shared_token_are_no_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("glassformer.doctor.signals.STEPS", 3)
    config = SeveralTextsConfig(**MODEL.model_dump(exclude={"design"}), texts=2)
    separator = VOCAB_SIZE - 1
    data = easy_data()
    first = np.split(np.minimum(data.train.tokens, separator - 1), data.train.offsets[1:-1])
    rows = [np.append(text, separator) for text in first]  # the second text is empty
    data = dataclasses.replace(data, train=TokenStore.in_memory(rows), separator_id=separator)
    torch.manual_seed(3)
    found = by_check(signals_of(bench(model=build_model(config, VOCAB_SIZE, N_CLASSES), data=data)))
    finding = found["gradients after 3 steps"]
    assert finding.level == "worth knowing"
    assert "share no token in the sample" in finding.found


def test_a_parameter_that_is_never_used_is_named_though_its_module_learns() -> None:
    finding = after_steps(Whisper(idle=True))
    assert finding.level == "problem"
    assert finding.found == "no gradient reaches idle"


@pytest.mark.parametrize(
    ("cancelled", "named"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c", "d", "e"], "a, b, c and 2 more")]
)
def test_a_few_are_named_and_the_rest_counted(cancelled: list[str], named: str) -> None:
    signals = measure_signals(bench(), seconds=0)
    first = signals.gradients[0].model_copy(update={"cancelled": tuple(cancelled)})
    changed = dataclasses.replace(signals, gradients=(first, *signals.gradients[1:]))
    assert by_check(check_signals(changed))["gradients after 20 steps"].found.endswith(f"noise reaches {named}")


def test_weights_that_were_trained_may_be_sure_of_themselves_at_the_start() -> None:
    tried = dataclasses.replace(bench(model=scaled(bench().model, 8)), from_weights=True)
    assert "came with the weights" in check_initial_loss(tried).advice
    findings = check_signals(measure_signals(tried, seconds=0), from_weights=True)
    assert by_check(findings)["attention at the start"].level == "worth knowing"


def with_feed_forward(bias: float) -> Bench:
    tried = bench(MODEL.model_copy(update={"feed_forward": "relu"}))
    for block in tried.model.get_submodule("trunk.blocks").children():
        feed_forward = FeedForward(16, 24, F.relu, bias=True)
        nn.init.constant_(feed_forward.in_projection.bias, bias)
        block.feed_forward = feed_forward
    return tried


def test_dead_units_are_named() -> None:
    findings = signals_of(with_feed_forward(-40.0))
    assert {"dead units at the start", "dead units after 30 steps"} <= problems(findings)
    assert "feed_forward (relu)" in by_check(findings)["dead units after 30 steps"].found
    assert "no gradient reaches trunk.blocks.0.feed_forward" in by_check(findings)["gradients after 30 steps"].found


def test_units_with_an_ordinary_bias_are_alive() -> None:
    assert problems(signals_of(with_feed_forward(0.0))) == set()


def test_a_signal_that_explodes_with_depth_is_named() -> None:
    tried = bench(MODEL.model_copy(update={"norm": "none", "feed_forward": "relu", "n_layers": 3}))
    scaled(tried.model, 6)
    assert "depth at the start" in problems(signals_of(tried))


def test_a_rate_at_which_nothing_moves_is_named() -> None:
    step = by_check(signals_of(bench(learning_rate=1e-7)))["step size after 30 steps"]
    assert step.level == "problem"
    assert "raise" in step.advice


@pytest.mark.parametrize(
    ("ratio", "level"), [(0.5, "problem"), (0.1, "worth knowing"), (1e-3, "good"), (5e-5, "worth knowing")]
)
def test_steps_are_judged_by_their_share_of_the_weights(ratio: float, level: str) -> None:
    signals = measure_signals(bench(), seconds=0)
    moved = tuple(own.model_copy(update={"update_ratio": ratio}) for own in signals.gradients)
    findings = by_check(check_signals(dataclasses.replace(signals, gradients=moved)))
    assert findings["step size after 20 steps"].level == level


@pytest.mark.parametrize(("most", "said"), [(0.0, "none"), (1e-4, "at most 0.01%"), (0.02, "at most 2%"), (0.5, "50%")])
def test_a_small_share_is_said_once(most: float, said: str) -> None:
    about: dict[str, Any] = {"found": "of {place}", "advice": "", "worst": "problem", "line": 0.1}
    place = "any layer" if most <= about["line"] else "b"
    assert _shares("a check", [("a", 0.0), ("b", most)], **about).found == f"{said} of {place}"


def test_a_run_into_not_a_number_is_named() -> None:
    tried = bench()
    tried.model.get_parameter("head.bias").data[0] = math.inf
    findings = signals_of(tried)
    assert "short training" in problems(findings)
