"""Frames of pandas are answered as tables are, wherever the function is sent to."""

import pickle
from types import SimpleNamespace

import pytest

import glassformer
from glassformer.errors import UsageError
from tests.cli.terminal import glassformer as run
from tests.trained import Trained

pd = pytest.importorskip("pandas", reason="pip install pandas to answer its frames")


def test_frames_get_the_answers_that_the_command_gives(reviews: Trained) -> None:
    score = pickle.loads(pickle.dumps(glassformer.score(reviews.folder)))
    frames = [pd.DataFrame({"id": [1, 2], "Text": ["good film", None]}), pd.DataFrame({"id": [3], "Text": ["dull"]})]
    first, second = score(iter(frames))
    expected = run("predict", reviews.folder, "good film", "dull", "--json").document["answers"]
    assert [first["prediction"][0], second["prediction"][0]] == [each["prediction"] for each in expected]
    assert first["confidence"][0] == expected[0]["confidence"]
    assert first["prediction"].isna().tolist() == [False, True]
    assert [*first.columns] == ["id", "Text", *score.added]
    frame = SimpleNamespace(dtypes=[("a `b`", "bigint"), ("Text", "string")])
    assert score.schema(frame).startswith(
        "`a ``b``` bigint, `Text` string, `prediction` string, `confidence` double, `prob"
    )
    assert score.schema(frame).endswith("`unseen_share` double, `unlike_training` boolean")


def test_frames_that_cannot_be_answered(reviews: Trained) -> None:
    score = glassformer.score(reviews.folder)
    with pytest.raises(UsageError, match="there is no column 'text' for the texts"):
        list(score([pd.DataFrame({"words": ["good"]})]))
    with pytest.raises(UsageError, match="the frame already has a column 'prediction'"):
        list(score([pd.DataFrame({"text": ["good"], "prediction": ["x"]})]))
    with pytest.raises(UsageError, match="the frame has several columns 'text'; rename the others"):
        list(score([pd.DataFrame([["good", "bad"]], columns=["text", "text"])]))
    with pytest.raises(UsageError, match="the column 'text' holds half of a surrogate pair"):
        list(score([pd.DataFrame({"text": ["\ud800"]})]))
    with pytest.raises(UsageError, match="frames of pandas are answered, not a value of type str; give a list"):
        list(score(pd.DataFrame({"text": ["good"]})))
    with pytest.raises(UsageError, match="no such model folder"):
        glassformer.score("nowhere")


def test_columns_whose_names_are_no_words_are_kept(reviews: Trained) -> None:
    score = glassformer.score(reviews.folder)
    (found,) = score([pd.DataFrame([["good", 1, 2]], columns=["text", 7, None])])
    assert [*found.columns][:3] == ["text", 7, None]
    with pytest.raises(UsageError, match="there is no column 'text' for the texts"):
        list(score([pd.DataFrame([["good", 1]])]))
