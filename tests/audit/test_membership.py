import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from glassformer.audit.judge import verdict_of
from glassformer.audit.membership import area, attack, caught, compare_twins, rises, twins_of
from glassformer.audit.result import Attack, Membership
from glassformer.data.inputs import SEPARATOR, mark
from glassformer.evaluation.record import Estimate
from glassformer.targets.labels.audit import losses
from glassformer.targets.labels.target import labels_target
from glassformer.targets.number import audit as NUMBER
from glassformer.targets.number.held_out import Scale
from glassformer.targets.number.target import Number


def test_the_area_is_that_of_scikit_learn_also_with_ties() -> None:
    draw = np.random.default_rng(0)
    members, others = draw.integers(0, 9, 70).astype(float), draw.integers(0, 8, 50).astype(float)
    expected = roc_auc_score([1] * 70 + [0] * 50, np.concatenate([members, others]))
    found = area(members, others)
    assert found.value == pytest.approx(expected)
    assert 0 <= found.low < found.value < found.high <= 1


def test_the_interval_holds_the_right_area_about_95_times_in_100() -> None:
    draw = np.random.default_rng(1)
    found = [area(draw.normal(size=60), draw.normal(size=40)) for _ in range(400)]
    held = [each.low <= 0.5 <= each.high for each in found]
    assert 0.92 <= np.mean(held) <= 0.98


def test_members_are_recognised_at_one_false_alarm_in_a_hundred() -> None:
    others = np.arange(200.0)
    found = caught(np.array([196.5, 198.5, 199.5, 300.0]), others, seed=0)
    assert found is not None
    assert found.value == pytest.approx(0.75)  # 198 and 199 are the two false alarms
    assert caught(others, others[:99], seed=0) is None


def test_among_equal_scores_as_many_pass_as_needed() -> None:
    members, others = np.zeros(100), np.concatenate([np.zeros(4), np.full(196, -1.0)])
    found = caught(members, others, seed=0)
    assert found is not None
    assert found.value == pytest.approx(0.5)  # 2 of the 4 equal others may pass


def test_the_verdict_begins_with_the_share_that_is_recognised() -> None:
    def found(by: str, auc: float, recognised: float | None) -> Attack:
        about = Estimate(value=auc, low=auc - 0.05, high=auc + 0.05)
        share = None if recognised is None else Estimate(value=recognised, low=0.0, high=1.0)
        return Attack(by=by, whom="", auc=about, caught=share)

    def verdict(*attacks: Attack) -> str:
        measured = Membership(
            members=450, others=150, training_loss=0.1, others_loss=0.2, training_accuracy=None, others_accuracy=None,
            attacks=attacks, twins=None, notes=(),
        )  # fmt: skip
        return verdict_of((), measured)

    loss, words, chance = found("loss", 0.821, 0.007), found("seen words", 0.658, 0.068), found("twins", 0.51, 0.3)
    by_loss = "by loss has an AUC of .821 (chance .500)."
    assert verdict(chance, loss, words).endswith(
        "table: the attack by seen words recognises 6.8% of the training texts at a false positive rate of 1%, and "
        f"the one {by_loss}"
    )
    both = found("loss", 0.821, 0.07)
    assert verdict(both, words).endswith(f"rate of 1%, and {by_loss.removeprefix('by loss ')}")
    for at_chance in (loss, found("loss", 0.821, None)):
        assert verdict(at_chance, chance).endswith(f"whether a text was in the training table: the attack {by_loss}")
    assert verdict(chance).endswith("No attack could tell training texts from others.")


def test_no_difference_gives_chance() -> None:
    draw = np.random.default_rng(3)
    found = attack("loss", "a model", draw.normal(size=3_000), draw.normal(size=3_000))
    assert found.auc.low < 0.5 < found.auc.high
    assert found.caught is not None
    assert found.caught.low < 0.01 < found.caught.high


def test_losses_of_one_and_of_several_labels() -> None:
    logits = np.array([[0.0, np.log(3.0)], [0.0, 0.0]])
    assert losses(labels_target(("a", "b")), logits, np.array([1, 0])) == pytest.approx([np.log(4 / 3), np.log(2)])
    assert losses(labels_target(("a", "b"), multilabel=True), logits, np.array([[0, 1], [1, 1]])) == pytest.approx(
        [np.log(2) + np.log(4 / 3), 2 * np.log(2)]
    )


def test_losses_of_a_number() -> None:
    scale = Scale(mean=3.0, deviation=2.0, lowest=0.0, highest=6.0)
    target = Number(column="score", scale=scale, bias=0.5)
    scores = np.array([[0.0], [1.0]])  # the answers 4 and 6, to the numbers 3 and 4
    assert NUMBER.losses(target, scores, np.array([0.0, 0.5]), None).tolist() == [0.25, 1.0]


def test_twins_differ_in_one_word() -> None:
    (copies, none) = twins_of(["a b c d", ""], ["x"], copies=5)
    assert len(copies) == 5
    for copy in copies:
        assert sum(word != own for word, own in zip(copy.split(), "abcd", strict=True)) == 1
    assert none == [""] * 5


def test_twins_of_a_row_keep_its_columns() -> None:
    row = mark("city", "New York") + f"is  it red{SEPARATOR}yes"
    twins = {twin for (twin,) in twins_of([row] * 60, ["X"], copies=1)}
    begin = mark("city", "New York")
    texts = ("X it red", "is X red", "is it X")
    assert twins == {f"{begin}{text}{SEPARATOR}yes" for text in texts} | {f"{begin}is it red{SEPARATOR}X"}


def test_a_model_that_knows_the_wording_rises_more() -> None:
    texts, known = ["a b", "c d"], {"a b", "c d"}

    def logits_of(asked: object) -> np.ndarray:
        return np.array([[0.0, 2.0 if text in known else 1.0] for text in asked])  # type: ignore[attr-defined]

    labels = np.array([1, 1])
    risen = rises(
        logits_of,
        texts,
        [["a x"] * 2, ["x d"] * 2],
        lambda logits: losses(labels_target(("a", "b")), logits, labels),
    )
    assert (risen > 0).all()
    found = compare_twins(np.tile(risen, 30), np.zeros(60))
    assert found.difference.low > 0
    assert found.training.value == pytest.approx(found.difference.value)
