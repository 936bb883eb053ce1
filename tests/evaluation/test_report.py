import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassformer.evaluation.charts import WIDTH, Dot, axis, frame, interval_chart, tick_text
from glassformer.evaluation.evaluate import evaluate
from glassformer.evaluation.measured import Outcome
from glassformer.evaluation.record import Estimate
from glassformer.evaluation.report import render, seconds, size, write_report
from glassformer.evaluation.result import ClassScores, ClassThresholds, DataSummary
from glassformer.evaluation.weak_spots import ErrorReasons, WorstError
from glassformer.targets.labels.evaluation import LabelledRows
from glassformer.targets.labels.evaluation_result import LabelEvaluation
from glassformer.targets.labels.target import labels_target
from tests.evaluation.samples import HISTORY, sample_evaluation, section
from tests.support import flat

VOID = {"meta", "br"}


class Balanced(HTMLParser):
    """Refuses a page whose tags do not close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.seen.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("two_readers", [False, True])
@pytest.mark.parametrize(("n", "n_classes", "multilabel"), [(397, 3, False), (140, 27, False), (90, 4, True)])
def test_every_shape_is_well_formed(n: int, n_classes: int, multilabel: bool, two_readers: bool) -> None:
    page = Balanced()
    page.feed(render(sample_evaluation(n, n_classes, multilabel=multilabel, two_readers=two_readers), HISTORY))
    assert page.open == []
    assert "table" in page.seen


def test_says_the_headline_and_the_verdict() -> None:
    evaluation = sample_evaluation()
    html = render(evaluation, HISTORY)
    assert evaluation.duel.verdict in html
    assert f"{evaluation.metrics.accuracy.value:.3f}".removeprefix("0") in html
    for heading in (
        "Compared with baselines",
        "Learning curves",
        "Confusion matrix",
        "Worst errors",
        "Left out, and notes",
    ):
        assert f"<h2>{heading}</h2>" in html
    assert "best epoch 2" in html
    assert "probably German (60%), English (35%)" in html
    assert evaluation.command in html


def test_the_kept_epoch_is_marked_not_the_one_with_the_lowest_loss() -> None:
    evaluation = sample_evaluation()
    kept = evaluation.model_copy(update={"model": evaluation.model | {"best_epoch": 3}})
    assert "best epoch 3" in render(kept, HISTORY)
    unvalidated = evaluation.model_copy(update={"model": evaluation.model | {"best_epoch": 4}})
    assert "best epoch 4" not in render(unvalidated, HISTORY)


def test_the_duel_has_a_row_for_each_reader_alone() -> None:
    evaluation = sample_evaluation(two_readers=True)
    html = shown(evaluation)
    duel = html.partition('<section id="duel">')[2].partition("</section>")[0]
    names = re.findall(r'<th scope="row">([^<]*)<small>', duel)
    assert duel.count('<tr class="ours">') == 1
    assert '<tr class="ours"><th scope="row">the model<small>' in duel
    assert names == [
        "the majority class",
        "TF-IDF + logistic regression",
        "counting alone",
        "the transformer alone",
        "the model",
    ]
    assert evaluation.duel.reader_verdict is not None
    assert evaluation.duel.reader_verdict in html.partition("<nav")[0]
    assert "Against counting alone: " in html
    assert "only the transformer alone; difference" in html
    assert "The interval excludes 0" not in html


def test_a_comparison_says_why_its_interval_and_its_p_differ() -> None:
    evaluation = sample_evaluation()
    first = evaluation.duel.comparisons[0]
    unclear = first.model_copy(update={"difference": Estimate(value=0.1, low=0.01, high=0.2), "mcnemar_p": 0.06})
    changed = evaluation.duel.model_copy(update={"comparisons": (unclear,)})
    html = shown(evaluation.model_copy(update={"duel": changed}))
    assert "McNemar p = .060. The interval excludes 0, but a clear difference also needs p below .050." in html


def test_one_of_anything_is_one() -> None:
    plain = sample_evaluation()
    first = plain.duel.comparisons[0].model_copy(update={"only_model_right": 1, "only_baseline_right": 2})
    html = shown(
        plain.model_copy(
            update={
                "data": plain.data.model_copy(update={"rows": 1}),
                "dropped": (),
                "machine": plain.machine.model_copy(update={"cores": 1}),
                "duel": plain.duel.model_copy(update={"comparisons": (first,)}),
            }
        )
    )
    for said in (
        "(test, 1 row)",
        "reviews.csv, test, 1 row<",
        "1 core, ",
        "1 row only the model got right, 2 only the",
    ):
        assert said in html
    assert ": 7 rows only" in shown(
        plain.model_copy(
            update={
                "duel": plain.duel.model_copy(
                    update={"comparisons": (first.model_copy(update={"only_model_right": 7}),)}
                )
            }
        )
    )


def test_escapes_everything_of_the_user() -> None:
    evil = "<script>alert('x')</script>"
    plain = sample_evaluation(60, 2, text=evil)
    html = render(
        plain.model_copy(
            update={
                "class_names": (evil, "b"),
                "notes": (evil,),
                "command": evil,
                "model": {"name": evil, evil: evil},
                "data": plain.data.model_copy(update={"source": evil, "split": evil, "trained_on": evil}),
                "dropped": (plain.dropped[0].model_copy(update={"reason": evil}),),
            }
        )
    )
    assert html.count("<script") == 2  # our own, which sort tables and choose thresholds
    assert html.count("&lt;script&gt;") > 8


def test_needs_nothing_else() -> None:
    html = render(sample_evaluation(), HISTORY)
    for reference in ("http://", "https://", "src=", "url(", "@import", "<link"):
        assert reference not in html


def test_without_history_there_are_no_curves_and_nothing_of_an_aside_file_stays(tmp_path: Path) -> None:
    write_report(tmp_path / "report.html", sample_evaluation(), None)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert "Learning curves" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_loss_that_is_not_finite_is_left_out_of_the_curves() -> None:
    html = render(sample_evaluation(), [{"epoch": 1, "train_loss": float("nan")}, {"epoch": 2, "train_loss": 0.5}])
    assert "nan" not in html
    assert "Learning curves" in html


@pytest.mark.parametrize(
    ("values", "ticks"),
    [([0.12, 0.68], [0, 0.2, 0.4, 0.6, 0.8]), ([3, 3], [2.4, 2.6, 2.8, 3, 3.2, 3.4, 3.6]), ([91, 97.5], None)],
)
def test_axes_hold_all_values_at_round_ticks(values: list[float], ticks: list[float] | None) -> None:
    found = axis("x", values)
    assert found.low <= min(values) <= max(values) <= found.high
    assert 4 <= len(found.ticks) <= 8
    assert ticks is None or found.ticks == pytest.approx(ticks)


def test_all_right_on_both_sides_is_not_called_certain() -> None:
    labels = np.arange(20) % 2
    probs = np.eye(2)[labels]
    same = Outcome(name="words", description="", answers=probs, fit_seconds=1.0, predict_seconds=1.0, size_bytes=1)
    evaluation = evaluate(
        LabelledRows(
            truth=labels, texts=["fine"] * 20, rows=range(1, 21), logits=probs * 8,
            target=labels_target(["no", "yes"]),
        ),
        data=DataSummary(source="t.csv", split="test", rows=20), model={},
        baselines=[same],
    )  # fmt: skip
    html = shown(evaluation)
    assert "(95%: .839 to 1.000)" in html
    assert "1.000 to 1.000" not in html
    assert "Against words: no row that only one of the two got right." in html
    assert "The transformer and words are right on the same rows" in html


def test_units() -> None:
    assert [seconds(value) for value in (None, 0.01, 2.25, 59, 150, 9000)] == [
        "–",
        "< 0.1 s",
        "2.2 s",
        "59 s",
        "2.5 min",
        "2.5 h",
    ]
    assert [size(value) for value in (None, 12, 1830, 4_700_000)] == ["–", "12 B", "1.83 kB", "4.7 MB"]


def test_a_temperature_that_was_not_fitted_is_not_said_to_be() -> None:
    evaluation = sample_evaluation()
    assert "fitted on held-out rows" in render(evaluation)
    plain = evaluation.calibration.model_copy(update={"temperature": 1.0})
    html = render(evaluation.model_copy(update={"calibration": plain}))
    assert "fitted on held-out rows" not in html
    assert "No temperature was fitted" in html
    assert "before, ECE" not in html


def test_the_script_that_runs_is_the_one_that_the_page_allows() -> None:
    html = render(sample_evaluation(), HISTORY)
    (code,) = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html


def test_all_numbers_have_one_format() -> None:
    text = re.sub(r"<(style|script|svg).*?</\1>|<[^>]*>", " ", render(sample_evaluation(), HISTORY), flags=re.DOTALL)
    seconds_and_sizes = re.compile(r"\b\d+\.\d+ (?:s|min|h|kB|MB|GB)\b")
    assert not re.search(r"(?<![\d.])0\.\d", seconds_and_sizes.sub("", text))


def shown(evaluation: LabelEvaluation) -> str:
    return flat(render(evaluation))


def thresholds_of(evaluation: LabelEvaluation, *points: tuple[float, int, int]) -> str:
    found = ClassThresholds(name="<yes>", rows=10, points=points)
    shown = section("ranking", evaluation.model_copy(update={"class_thresholds": (found,)}))
    return shown.partition("<h3>Choose a threshold</h3>")[2]


def test_thresholds_for_three_aims() -> None:
    html = thresholds_of(sample_evaluation(90, 2), (0.93456, 5, 5), (0.8, 8, 9), (0.5, 9, 12), (0.1, 10, 90))
    lines = [re.findall(r"<td>([^<]*)</td>", line) for line in re.findall(r"<tr>.*?</tr>", html)[1:]]
    assert lines == [
        [".800000", ".889", ".800", "8 of 10", "1", "2"],
        [".934560", "1.000", ".500", "5 of 10", "0", "5"],
        [".500000", ".750", ".900", "9 of 10", "3", "1"],
    ]
    assert "&lt;yes&gt;" in html
    assert "<yes>" not in html


def test_an_aim_that_no_threshold_reaches_is_blank() -> None:
    html = thresholds_of(sample_evaluation(90, 2), (0.8, 1, 2), (0.1, 10, 90))
    line = re.findall(r"<tr>.*?</tr>", html)[2]
    assert "precision of at least .900" in line
    assert line.count("<td>–</td>") == 6


def test_a_class_that_is_only_answered_has_the_scores_that_the_averages_count() -> None:
    one: dict[str, Any] = {"name": "a", "recall": 0.0, "f1": 0.0, "support": 0, "precision": 0.0}
    classes = (ClassScores(**one, predicted=2), ClassScores(**one, predicted=0))
    evaluation = sample_evaluation(90, 2)
    metrics = evaluation.metrics.model_copy(update={"per_class": classes})
    html = section("classes", evaluation.model_copy(update={"metrics": metrics}))
    answered, silent = re.findall(r"<tr><th scope=\"row\">a</th>(.*?)</tr>", html)
    assert (answered.count(">.000<"), answered.count(">–<")) == (3, 1)
    assert silent.count(">–<") == 4


def errors_section(*errors: WorstError) -> str:
    html = render(sample_evaluation(30).model_copy(update={"worst_errors": errors}))
    return re.sub(r"\s+", " ", html.partition('<section id="errors">')[2])


def test_the_words_of_an_explained_error_are_coloured() -> None:
    reasons = ErrorReasons(label="good", rival="<bad>", method="shapley", words=((0, 3, 0.5), (4, 7, -1.0)))
    error = WorstError(row=4, text="not <b>!", truth=("good",), prediction=("<bad>",), confidence=0.9, reasons=reasons)
    html = errors_section(error, error.model_copy(update={"reasons": None}))
    assert "The words of 1 text are coloured" in html
    assert '<mark class="for" style="--share: 30%" title="+0.50">not</mark> ' in html
    assert '<mark class="against" style="--share: 60%" title="−1.00">&lt;b&gt;</mark>!' in html
    assert "speaks for good" in html
    assert "speaks for &lt;bad&gt;" in html
    assert "speaks against good" in errors_section(
        error.model_copy(update={"reasons": reasons.model_copy(update={"rival": None})})
    )
    assert "coloured" not in errors_section(error.model_copy(update={"reasons": None}))


def test_ticks_are_written_like_the_numbers_of_the_tables() -> None:
    assert list(map(tick_text, (-0.03, 0.25, -2.5, 0.0))) == ["−.03", ".25", "−2.5", "0"]


def test_a_name_of_four_settings_is_not_cut() -> None:
    name = "positions=sinusoidal · norm=layer · feed_forward=relu · pooling=mean"
    assert f">{name}</text>" in interval_chart(
        "t", "x", [Dot(name=name, estimate=Estimate(value=0.5, low=0.4, high=0.6), style="first")]
    )


def test_the_last_number_below_a_chart_is_whole() -> None:
    drawn = frame(axis("rows", [0, 150_000], whole=True), axis("accuracy", [0, 1]))
    place = float(re.findall(r'x="([0-9.]+)" y="[0-9.]+">150000<', drawn)[0])
    assert place + len("150000") * 3 <= WIDTH  # letters are six wide, and the number stands in the middle
