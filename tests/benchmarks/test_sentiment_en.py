"""The model of the package, made smaller."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import polars as pl
import pytest

from benchmarks import sentiment_en
from glassformer.data.splits import Splits
from glassformer.data.table import Table
from glassformer.prediction.predictor import Predictor
from glassformer.targets.labels.held_out import HeldOutAnswers
from tests.trained import Trained


def _table(texts: list[str]) -> Table:
    frame = pl.DataFrame({"text": texts}).with_row_index("row", 1)
    return Table(frame=frame, source="reviews", text_column="text", label_column="label", dropped=(), notes=())


def test_the_figures_of_unseen_words_are_those_of_the_words_that_are_left(
    reviews: Trained, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sentiment_en, "HASHES", 3)
    splits = Splits(train=_table(["good", "good film", "bad"]), validation=_table(["good", "a good film"]), notes=())
    folder = sentiment_en.smaller(reviews.folder, splits, cast(Any, SimpleNamespace(work=tmp_path)))
    before, usual = (
        HeldOutAnswers.model_validate(json.loads((each / "metrics.json").read_text())["held_out_answers"])
        for each in (reviews.folder, folder)
    )
    seen = Predictor.load(folder).trained.seen
    assert seen is not None
    shares = seen.unseen_shares(["good", "a good film"])
    assert usual.unseen_share is not None
    assert usual.unseen_share.mean == pytest.approx(float(shares.mean()), abs=1e-6)
    assert usual.unseen_share.sd == pytest.approx(float(shares.std()), abs=1e-6)
    assert usual.unseen_share != before.unseen_share
    kept = {"unseen_share", "unlike_training"}
    assert usual.model_dump(exclude=kept) == before.model_dump(exclude=kept)
