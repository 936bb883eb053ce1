import pickle
from pathlib import Path

import numpy as np
import pytest

from glassformer.errors import GlassformerError
from glassformer.readers.joining import open_rows
from glassformer.readers.reader import DECIDING
from glassformer.readers.rules.reader import RulesReader
from glassformer.readers.rules.saying import LabelSaying, NumberSaying

LABELS = ("a", "b", "c")
CONTENT = '"one" -> a 1.5\n"two" -> not b 0.5\n"three" -> c always\n"four" -> a always\n"five" -> b\n'


def reader(content: str = CONTENT, *, several: bool = False) -> RulesReader:
    return RulesReader.of(content, LabelSaying(labels=LABELS, several=several), "rules.txt")


def test_rules_add_up_and_the_first_that_decides_silences_the_others() -> None:
    texts = ["one one two", "five", "none", "one four three", "four one"]
    expected = [[1.5, -0.5, 0], [0, 1, 0], [0, 0, 0], [0, 0, DECIDING], [DECIDING, 0, 0]]
    found = reader().scores(texts)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == np.float32
    assert open_rows(found).tolist() == [True, True, True, False, False]
    assert reader().scores([]).shape == (0, 3)


def test_of_several_labels_each_is_a_decision_of_its_own() -> None:
    np.testing.assert_array_equal(reader(several=True).scores(["one two three four"]), [[DECIDING, -0.5, DECIDING]])


def test_of_a_number_rules_add_in_its_unit_or_decide() -> None:
    content = '"one" -> +1.5\n"two" -> -2\n"three" -> 7 always\n"four" -> 0 always\n'
    found = RulesReader.of(content, NumberSaying(column="price", mean=10, deviation=4), "rules.txt")
    scores = found.scores(["one two", "none", "one three four", "four three"])
    np.testing.assert_allclose(scores[:, 0], [-0.125, 0, 2 * DECIDING - 0.75, 2 * DECIDING - 0.75], rtol=0, atol=1e-12)
    assert found.added([0, 2, 3]) == {0: 0, 2: -0.75, 3: 0}
    assert open_rows(scores).tolist() == [True, True, False, False]
    far = RulesReader.of("\n".join(['"one" -> +2000'] * 5), NumberSaying(column="x", mean=0, deviation=4), "rules.txt")
    assert open_rows(far.scores(["one"])).tolist() == [True]  # many rules that add do not decide


def test_it_is_kept_with_the_file_as_it_was_given(tmp_path: Path) -> None:
    content = CONTENT.replace("\n", "\r\n")
    given = reader(content)
    given.save(tmp_path)
    priced = RulesReader.of('"one" -> +.1\n"four" -> 7 always', NumberSaying(column="x", mean=1, deviation=3), "r")
    (tmp_path / "number").mkdir()
    priced.save(tmp_path / "number")
    np.testing.assert_array_equal(
        RulesReader.load(tmp_path / "number").scores(["one", "four"]), priced.scores(["one", "four"])
    )
    assert (tmp_path / "rules.txt").read_bytes() == content.encode()
    texts = ["one two five", "four"]
    for again in (RulesReader.load(tmp_path), pickle.loads(pickle.dumps(given))):
        np.testing.assert_array_equal(again.scores(texts), given.scores(texts))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("rules.txt", '"one" -> a\n', "does not match rules.txt"),
        ("rules.txt", '"one" -> z\n', "line 1: no label 'z'.* damaged"),
        ("rules.json", '{"column": "a", "mean": 0, "deviation": 0}', "says nothing|does not hold weights"),
        ("rules.json", "[1]", "does not hold weights.* damaged"),
        ("rules.json", '{"labels": ["a"]}', "does not hold weights.* damaged"),
        ("rules.json", '{"labels": ["a", "b", "c"], "several": false, "weights": [0, 0, 0, 0, -1]}', "damaged"),
    ],
)
def test_a_damaged_file_is_an_error(tmp_path: Path, name: str, content: str, says: str) -> None:
    reader().save(tmp_path)
    (tmp_path / name).write_text(content)
    with pytest.raises(GlassformerError, match=f"(?s){says}"):
        RulesReader.load(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(GlassformerError, match=name):
        RulesReader.load(tmp_path)
