import dataclasses
import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from glassformer.data.store import TokenStore
from glassformer.targets.probabilities import probabilities
from glassformer.tracing.snapshot import Sample, Scored, ShownText, Snapshot, Subject, cross_entropy
from glassformer.tracing.time_lapse import TimeLapse, render, time_lapse
from tests.support import flat


def text_of(row: int, *tokens: str) -> ShownText:
    return ShownText(
        row=row, labels=("good, fine",), token_ids=np.arange(5, 5 + len(tokens)), tokens=("(start)", *tokens), cut=False
    )


def lapse(n_words: int = 7, *, attention: bool = True, source: str = "films.csv") -> TimeLapse:
    """Three snapshots of two texts, two blocks and three heads; every number is another."""
    draw = np.random.default_rng(4)
    texts = text_of(9, "not", "bad"), text_of(2, "a", "<b>fine</b>", "film", "</script>")
    nothing = Sample(store=TokenStore.in_memory([]), labels=np.zeros(0, np.int64))
    subject = Subject(
        source=source,
        held_out=True,
        texts=texts,
        words={f"word{number}": number for number in range(n_words)},
        samples={"training rows": nothing, "held-out rows": nothing},
        labels=("bad", "good, fine"),
        multilabel=False,
        max_seq_len=16,
        scored=Scored(loss=cross_entropy, answers=partial(probabilities, multilabel=False)),
    )
    snapshots = [
        Snapshot(
            step=step,
            done=step / 90,
            losses={"training rows": 0.7 - step / 200, "held-out rows": 0.7 - step / 300},
            logits=draw.normal(size=(2, 2)).astype(np.float32),
            attention=tuple(
                draw.dirichlet(np.ones(len(text.tokens)), (2, 3, len(text.tokens))).astype(np.float32)
                for text in texts
                if attention
            ),
            embeddings=draw.normal(size=(n_words, 5)).astype(np.float32),
        )
        for step in (0, 10, 90)
    ]
    return time_lapse(subject, snapshots, kept_step=80)


def shown_page(found: TimeLapse) -> str:
    return flat(render(found))


def test_all_snapshots_are_projected_on_the_components_of_the_last() -> None:
    found = lapse()
    last = found.snapshots[-1].embeddings.astype(np.float64)
    centred = last - last.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    assert found.variance == pytest.approx((values[:2] ** 2).sum() / (values**2).sum(), abs=1e-5)
    for snapshot, points in zip(found.snapshots, found.points, strict=True):
        expected = (snapshot.embeddings - last.mean(axis=0)) @ directions[:2].T
        signs = np.sign(found.points[-1][0] / (centred @ directions[:2].T)[0])
        np.testing.assert_allclose(points, expected * signs, atol=1e-5)


@pytest.mark.parametrize("n_words", [0, 2])
def test_too_few_words_are_not_drawn(n_words: int) -> None:
    found = lapse(n_words)
    assert found.points.shape == (3, 0, 2)
    assert "no embeddings that can be drawn" in shown_page(found)


def test_a_design_without_attention_says_so() -> None:
    page = shown_page(lapse(attention=False))
    assert "This design shows no attention weights." in page
    assert 'id="maps"' not in page


def test_texts_are_escaped_and_only_the_own_script_may_run() -> None:
    page = shown_page(lapse(source="<i>films</i>.csv"))
    assert "<b>fine" not in page
    assert "<i>films" not in page
    assert page.count("</script>") == page.count("<script")
    assert "default-src 'none'" in page
    assert re.search(r"script-src 'sha256-[\w+/=]+'", page)


def test_the_page_says_what_its_texts_are() -> None:
    found = lapse()
    assert "held-out rows, which training does not learn from" in shown_page(found)
    assert "keep it to yourself if they are private" in shown_page(found)
    of_training = dataclasses.replace(found, subject=dataclasses.replace(found.subject, held_out=False))
    assert "The texts are training rows." in shown_page(of_training)


def test_a_loss_that_is_not_a_number_is_left_out(tmp_path: Path) -> None:
    found = lapse()
    odd = dataclasses.replace(found.snapshots[1], losses={"training rows": float("nan"), "held-out rows": 0.5})
    found = dataclasses.replace(found, snapshots=(found.snapshots[0], odd, found.snapshots[2]))
    (tmp_path / "config.json").write_text("{}")
    found.save(tmp_path)
    described = json.loads((tmp_path / "snapshots" / "snapshots.json").read_text("utf-8"))
    assert described["losses"]["training rows"][1] is None
