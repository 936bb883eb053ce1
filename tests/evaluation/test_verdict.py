from functools import partial

import pytest

from glassformer.evaluation.record import Estimate
from glassformer.evaluation.result import Contestant, Metrics
from glassformer.evaluation.verdict import p_value, share, signed, verdict
from glassformer.targets.labels.evaluation_comparison import which_is_more_accurate
from tests.evaluation.samples import sample_evaluation

STRICTER = (
    " The interval excludes 0, but a clear difference also needs p below .050. The exact test behind p is stricter "
    "where few rows are right by one of the two alone."
)

UNDRAWN = (
    " p is below .050, but a clear difference also needs an interval that excludes 0. The interval draws the rows "
    "anew, and p counts those that one of the two alone gets right."
)


def contestant(name: str, accuracy: float, macro_f1: float, rows: int) -> Contestant[Metrics]:
    figures = {"accuracy": accuracy, "macro_f1": macro_f1}
    estimates = {key: Estimate(value=value, low=value, high=value) for key, value in figures.items()}
    plain = sample_evaluation(30).duel.model
    metrics = plain.metrics.model_copy(update={"rows": rows, **estimates})
    return plain.model_copy(update={"name": name, "metrics": metrics})


def sentence(
    value: float,
    low: float,
    high: float,
    p: float,
    rows: int = 1234,
    *,
    macro_f1: tuple[float, float] = (0.5, 0.5),
    model: str = "the transformer",
) -> str:
    ours = contestant(model, 0.8 + value, macro_f1[0], rows)
    theirs = contestant("TF-IDF", 0.8, macro_f1[1], rows)
    return verdict(ours, theirs, Estimate(value=value, low=low, high=high), p)


def test_the_model_wins() -> None:
    assert sentence(0.05, 0.03, 0.07, 0.0001) == (
        "The transformer is more accurate here: .850 against .800 for TF-IDF "
        "(difference +.050, 95% interval +.030 to +.070, p < .001)."
    )


def test_the_baseline_wins_and_is_said_to() -> None:
    found = sentence(-0.021, -0.024, -0.018, 0.004)
    assert found.startswith("TF-IDF is more accurate here: .800 against .779 for the transformer (difference +.021")
    assert found.endswith("p = .004); prefer it unless you need what only a transformer gives you.")
    assert sentence(-0.021, -0.024, -0.018, 0.004, model="the model").endswith("p = .004); prefer it.")


def test_macro_f1_that_points_the_other_way_is_said() -> None:
    lost = sentence(-0.021, -0.024, -0.018, 0.004, macro_f1=(0.69, 0.652))
    assert lost.endswith(
        "p = .004). Macro F1, which weighs all classes equally, is higher for the transformer: .690 against .652 for "
        "TF-IDF."
    )
    assert "prefer it" not in lost
    won = sentence(0.05, 0.03, 0.07, 0.0001, macro_f1=(0.6, 0.7))
    assert won.endswith("is higher for TF-IDF: .700 against .600 for the transformer.")
    for agreed in (sentence(0.05, 0.03, 0.07, 0.0001, macro_f1=(0.7, 0.6)), sentence(-0.05, -0.07, -0.03, 0.0001)):
        assert "Macro F1" not in agreed


@pytest.mark.parametrize(("recall", "support", "said"), [
    (0.2, 40, "More missed than found: 'rare' (32 of 40 texts missed)."), (0.5, 40, None), (0.0, 9, None),
])  # fmt: skip
def test_a_class_that_is_more_missed_than_found(recall: float, support: int, said: str | None) -> None:
    metrics = sample_evaluation().metrics
    rare = metrics.per_class[0].model_copy(update={"name": "rare", "recall": recall, "support": support})
    assert metrics.model_copy(update={"per_class": (rare,)}).remark == said


@pytest.mark.parametrize(("low", "high", "p"), [(-0.01, 0.03, 0.2), (0.001, 0.02, 0.06), (-0.001, 0.02, 0.04)])
def test_noise_is_no_victory(low: float, high: float, p: float) -> None:
    said = sentence(0.01, low, high, p)
    assert said.startswith("No clear winner on 1,234 rows")
    assert said.endswith(STRICTER) == (low > 0)
    assert said.endswith(UNDRAWN) == (p < 0.05)


def test_two_models_of_which_p_alone_sees_no_difference() -> None:
    accuracy, macro_f1 = Estimate(value=0.8, low=0.7, high=0.9), {"a": 0.5, "b": 0.5}
    of = partial(which_is_more_accurate, macro_f1, accuracy)
    said = of(Estimate(value=-0.01, low=-0.02, high=-0.001), 0.06, 500)
    size = "−.010 (95% interval −.020 to −.001, p = .060)"
    assert said == f"No clear difference between a and b on 500 rows: {size}.{STRICTER}"
    assert STRICTER not in of(Estimate(value=-0.01, low=-0.02, high=0.001), 0.06, 500)


def test_one_row_is_no_victory() -> None:
    assert sentence(0.2, 0.2, 0.2, 1, rows=1).startswith("No clear winner on 1 row: ")


def test_no_row_tells_them_apart() -> None:
    assert sentence(0, 0, 0, 1) == (
        "The transformer and TF-IDF are right on the same rows, 987 of 1,234; "
        "choose the simpler one, TF-IDF, until other test rows show a difference."
    )


@pytest.mark.parametrize(("sizes", "smaller"), [
    ((2_000, 70), ", and TF-IDF is smaller"), ((70, 71), ", and the model is smaller"),
    ((70, 70), ""), ((None, 70), ""),
])  # fmt: skip
@pytest.mark.parametrize("width", [0.0, 0.1])
def test_of_two_that_count_none_is_simpler(width: float, sizes: tuple[int | None, int], smaller: str) -> None:
    ours, theirs = (
        contestant(name, 0.8, 0.8, 100).model_copy(update={"size_bytes": size})
        for name, size in zip(("the model", "TF-IDF"), sizes, strict=True)
    )
    said = verdict(ours, theirs, Estimate(value=0, low=-width, high=width), 1, alike=True)
    assert said.endswith(f"; these rows give no reason to prefer either{smaller}.")
    assert ("is smaller" in said) == bool(smaller)


def test_numbers() -> None:
    assert (share(0.9071), share(1), share(0)) == (".907", "1.000", ".000")
    assert (signed(-0.0214), signed(0.5), signed(-1)) == ("−.021", "+.500", "−1.000")
    assert (p_value(0.0004), p_value(0.03)) == ("p < .001", "p = .030")
