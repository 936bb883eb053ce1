import json
import re
from pathlib import Path

from glassformer.doctor.findings import (
    CutWord,
    Diagnosis,
    Finding,
    Histogram,
    LabelTokens,
    LayerFigures,
    ModelFigures,
    TokenReport,
)
from glassformer.doctor.page import rate_chart, render_diagnosis, write_diagnosis
from glassformer.doctor.rate_range import read_rate_range
from tests.doctor.test_rate_range import RATES, valley
from tests.support import flat

NASTY = "<script>alert(1)</script>"


def figures_of() -> ModelFigures:
    figures = sample().figures
    assert figures is not None
    return figures


def sample(**changes: object) -> Diagnosis:
    layer = LayerFigures(name=f"blocks.0.{NASTY}", kind="layer", mean=0.1, std=0.4, zeros=0.0)
    unit = LayerFigures(name="blocks.0 (relu)", kind="activation", mean=0.3, std=0.2, zeros=0.5, dead=0.25)
    rows = LayerFigures(name="a (weights)", kind="attention", mean=0.1, std=0.1, zeros=0, saturated=0.125, uniform=0.0)
    silent = LayerFigures(name="head", kind="layer", mean=0.0, std=0.0, zeros=1.0)
    figures = ModelFigures(
        steps=173,
        at_start=(layer, unit, rows, silent),
        after=(layer, unit, rows, silent),
        gradients=(),
        overfit=(0.7, 0.01),
        rate_range=read_rate_range(RATES, valley()),
    )
    findings = (
        Finding(check="first loss", level="problem", found=f"{NASTY} is 4.2", advice="do this"),
        Finding(check="size", level="good", found="fits"),
    )
    line = LabelTokens(label=NASTY, rows=1_700, words_per_text=7.25, tokens_per_word=1.5, unknown=0.125, longer=3)
    tokens = TokenReport(
        held_out=True, all_texts=line, labels=(line,), more_labels=2, standing_out=(),
        cut_words=(CutWord(word=NASTY, tokens=9, texts=4),),
    )  # fmt: skip
    values = {
        "tokens": tokens,
        "source": f"{NASTY}.csv", "rows": 1234, "parameters": 56_789, "model": "1 block", "window": 33,
        "learning_rate": 3e-4, "findings": findings, "lengths": Histogram(edges=(0.0, 20.0, 40.0), counts=(7, 3)),
        "figures": figures, "limits": ("a sample was read",), "seconds": 9.5, "version": "1", "created": "today",
    }  # fmt: skip
    return Diagnosis.model_validate(values | changes)


def shown_page(found: Diagnosis) -> str:
    return flat(render_diagnosis(found))


def test_the_page_is_alone_and_escapes_what_came_from_outside() -> None:
    page = shown_page(sample())
    assert page.count("<script") == 1  # ours
    assert page.count("&lt;script&gt;") >= 4
    assert not re.search(r'(src|href)="(?!#)', page)


def test_tokens_are_shown_by_label() -> None:
    page = shown_page(sample())
    assert "<td>1,700</td><td>7.2</td><td>1.50</td><td>12.5%</td><td>3</td>" in page
    assert "2 labels are not listed" in page
    assert "(9 tokens, in 4)" in page
    tokens = sample().tokens.model_copy(update={"held_out": False, "more_labels": 0, "cut_words": ()})
    page = shown_page(sample(tokens=tokens))
    assert "How training texts are cut" in page
    assert "not listed" not in page
    assert "Words that are cut" not in page


def test_without_a_transformer_nothing_is_said_of_it() -> None:
    page = shown_page(sample(figures=None))
    for said in ("Learning rates", "Layer by layer", "Gradients and steps", "56,789 parameters"):
        assert said in shown_page(sample())
        assert said not in page
    assert "1,234 rows; without a transformer" in page
    assert "trains none" in page


def test_one_of_anything_is_one() -> None:
    figures = figures_of().model_copy(update={"steps": 1, "overfit": (0.7,)})
    page = shown_page(sample(rows=1, figures=figures, weights=f"weights: {NASTY}, the head too"))
    for said in (
        "before training: 1 row; ",
        "Small numbers: after 1 step.",
        "and after 1 step, and how far",
        "was trained on for 1 step.",
    ):
        assert said in page
    assert "parameters; weights: &lt;script&gt;" in page


def test_long_names_of_modules_may_be_broken() -> None:
    assert '<th scope="row">blocks.<wbr>0 (relu)</th>' in shown_page(sample())


def test_the_worst_stands_first_and_is_counted() -> None:
    page = shown_page(sample())
    assert "1 problem, 0 worth knowing, 1 good." in page
    assert page.index("first loss") < page.index("<b>size</b>")
    assert 'aria-label="problem"' in page
    assert "a sample was read" in page


def test_every_drawing_says_what_it_shows() -> None:
    page = shown_page(sample())
    assert page.count('<svg viewBox="0 0 360') == page.count("<desc id=") == 2
    assert "falls fastest at" in page
    assert "The recipe’s rate is 0.0003." in page
    assert "window 33" in page


def test_the_window_is_not_drawn_where_no_text_reaches_it() -> None:
    assert "window 512</text>" not in shown_page(sample(window=512))


def test_rates_that_end_in_nothing_are_drawn() -> None:
    broken = read_rate_range(RATES[:3], valley()[:3] * [1, float("inf"), float("inf")])
    figures = figures_of().model_copy(update={"rate_range": broken})
    assert "It does not fall noticeably." in shown_page(sample(figures=figures))


def test_both_files_are_written(tmp_path: Path) -> None:
    write_diagnosis(tmp_path / "new" / "folder", sample())
    written = tmp_path / "new" / "folder"
    assert {path.name for path in written.iterdir()} == {"findings.json", "report.html"}
    read = json.loads((written / "findings.json").read_text(encoding="utf-8"))
    assert read["findings"][0]["level"] == "problem"
    assert len(read["figures"]["rate_range"]["rates"]) == len(RATES)


def test_what_is_no_number_is_null_in_the_file_and_leaves_no_curve(tmp_path: Path) -> None:
    never = read_rate_range(RATES[:1], valley()[:1] * float("inf"))
    figures = figures_of().model_copy(update={"rate_range": never, "overfit": (float("nan"),)})
    write_diagnosis(tmp_path, sample(figures=figures))

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    read = json.loads((tmp_path / "findings.json").read_text(encoding="utf-8"), parse_constant=refuse)
    assert read["figures"]["rate_range"]["losses"] == read["figures"]["overfit"] == [None]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "There is no curve" in page
    assert "Learning rate range" not in page


def test_the_curve_of_the_rates_is_not_cut_below() -> None:
    losses = valley()
    losses[-30], losses[-20] = 0.04, 0.02  # single low losses, which smoothing hides
    found = read_rate_range(RATES, losses)
    assert min(found.smoothed) > 0.1
    curves = re.findall(r'points="([^"]+)"', rate_chart(found, 1e-3))
    lowest = sorted((float(pair.split(",")[1]) for line in curves for pair in line.split()), reverse=True)
    assert lowest[0] > lowest[1]  # both would lie on the edge
