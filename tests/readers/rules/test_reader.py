import pickle
from pathlib import Path

import numpy as np
import pytest

from glassformer.errors import GlassformerError
from glassformer.readers.joining import open_rows
from glassformer.readers.reader import DECIDING
from glassformer.readers.rules.reader import RulesReader

LABELS = ("a", "b", "c")
CONTENT = '"one" -> a 1.5\n"two" -> not b 0.5\n"three" -> c always\n"four" -> a always\n"five" -> b\n'


def reader(content: str = CONTENT, *, several: bool = False) -> RulesReader:
    return RulesReader.of(content, LABELS, "rules.txt", several=several)


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


def test_it_is_kept_with_the_file_as_it_was_given(tmp_path: Path) -> None:
    content = CONTENT.replace("\n", "\r\n")
    given = reader(content)
    given.save(tmp_path)
    assert (tmp_path / "rules.txt").read_bytes() == content.encode()
    texts = ["one two five", "four"]
    for again in (RulesReader.load(tmp_path), pickle.loads(pickle.dumps(given))):
        np.testing.assert_array_equal(again.scores(texts), given.scores(texts))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("rules.txt", '"one" -> a\n', "does not match rules.txt"),
        ("rules.txt", '"one" -> z\n', "line 1: no label 'z'.* damaged"),
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
