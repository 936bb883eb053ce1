import json
from pathlib import Path

from glassformer.audit.audit import render_audit, write_audit
from glassformer.audit.result import Attack, Audit, FileAudit, Found, Membership, Traced, Twins
from glassformer.doctor.findings import Finding
from glassformer.evaluation.record import Estimate
from tests.support import flat


def sample(**changes: object) -> Audit:
    estimate = Estimate(value=0.625, low=0.5, high=0.75)
    fields = {
        "model": "runs/<b>reviews",
        "verdict": "Do not give this folder away as it is: 1 problem (personal data in the files).",
        "findings": (
            Finding(check="names in the files", level="worth knowing", found="2 of 3 <i>names</i>", advice="mask them"),
            Finding(check="personal data in the files", level="problem", found="1 e-mail address (m…@e….com)"),
            Finding(check="what leaves this machine", level="good", found="nothing"),
        ),
        "files": (
            FileAudit(
                name="counting.json", holds="n-grams", give_away=True, size_bytes=7,
                found=(Found(kind="e-mail address", values=2, examples=("m…@<….com",)),),
            ),
            FileAudit(
                name="evaluation/a-report-with-a-very-long-name.html", holds="a report", give_away=False, size_bytes=9,
                found=(),
            ),
            FileAudit(name="model.safetensors", holds="weights", give_away=True, size_bytes=9, found=None),
        ),
        "traced": (
            Traced(
                kind="e-mail address", values=5, rows=(1, 2), readable=4, in_ngrams=4, readable_rows=(1_234,),
                examples=("m…@e….com",), confirmable=3,
            ),
            Traced(
                kind="probable name",
                values=6,
                rows=(8, 9),
                readable=0,
                in_ngrams=0,
                readable_rows=(),
                examples=("M… R…",),
                confirmable=None,
            ),
        ),
        "unread": "",
        "membership": Membership(
            members=2_000, others=700, training_loss=0.25, others_loss=0.5, training_accuracy=0.9, others_accuracy=0.8,
            attacks=(
                Attack(by="loss of the answer", whom="the model as it is", auc=estimate, caught=estimate),
                Attack(by="seen words", whom="seen.safetensors", auc=estimate, caught=None),
            ),
            twins=Twins(texts=500, training=estimate, others=estimate, difference=estimate),
            notes=("A note.",),
        ),
        "unmeasured": "",
        "seconds": 7.5,
        "version": "1.2.3",
        "created": "2026-01-02",
    }  # fmt: skip
    return Audit.model_validate(fields | changes)


def shown_page(found: Audit) -> str:
    return flat(render_audit(found))


def test_everything_is_shown_and_escaped() -> None:
    shown = shown_page(sample())
    assert "<b>reviews" not in shown
    assert "<i>names" not in shown
    assert "m…@&lt;….com" in shown
    assert shown.index("personal data in the files</b>") < shown.index("names in the files</b>")
    for words in (
        '<span class="stays">no: it stays</span>',
        "<td>not searched</td>",
        "probable name",
        "<td>1,234</td>",
        "<td>8, 9</td>",
        ".625<small>.500 to .750</small>",
        "too few texts",
        "right for 90.0% of the training texts and 80.0%",
        "in 500 training texts and in held-out texts",
        "rises by 0.625 nats",
        "A note.",
    ):
        assert words in shown, words


def test_what_was_not_done_is_said() -> None:
    shown = shown_page(sample(traced=None, unread="the table is <gone", membership=None, unmeasured="too few rows"))
    assert "Not done: the table is &lt;gone." in shown
    assert "Not done: too few rows." in shown
    assert "nothing of the forms" in shown_page(sample(traced=()))
    of_few = sample()
    assert of_few.membership is not None
    assert "Near copies" not in shown_page(sample(membership=of_few.membership.model_copy(update={"twins": None})))


def test_page_and_figures_are_written(tmp_path: Path) -> None:
    write_audit(tmp_path / "new", sample())
    assert Audit.model_validate(json.loads((tmp_path / "new" / "audit.json").read_text())) == sample()
    assert (tmp_path / "new" / "audit.html").read_text().startswith("<!doctype html>")
    assert len(list((tmp_path / "new").iterdir())) == 2
