import pickle
from pathlib import Path

import pytest

from glassformer.data.parts import PartError, split_part, with_part


@pytest.mark.parametrize(
    ("address", "path", "part"),
    [
        ("book.xlsx", "book.xlsx", None),
        ("book.xlsx#Sheet 2", "book.xlsx", "Sheet 2"),
        ("book.xlsx#A#1", "book.xlsx", "A#1"),
        ("a.zip#2024/march.csv", "a.zip", "2024/march.csv"),
        ("c#.csv", "c#.csv", None),
        ("c#.csv#x", "c#.csv", "x"),
        ("#odd.csv", "#odd.csv", None),
        ("none.xlsx#Sheet2", "none.xlsx#Sheet2", None),
        ("folder#x", "folder#x", None),
        ("book.xlsx#", "book.xlsx#", None),
        ("#", "#", None),
    ],
)
def test_the_part_is_what_follows_the_name_of_a_file(
    address: str, path: str, part: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name in ("book.xlsx", "a.zip", "c#.csv", "#odd.csv"):
        (tmp_path / name).touch()
    for place in ("", f"{tmp_path}/"):
        assert split_part(Path(place + address)) == (Path(place + path), part)


def test_a_part_is_put_behind_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.db").touch()
    assert split_part(with_part(tmp_path / "a.db", "tickets")) == (tmp_path / "a.db", "tickets")
    assert split_part(Path("x" * 5_000 + "#y")) == (Path("x" * 5_000 + "#y"), None)


def test_another_process_can_send_that_no_part_is_named() -> None:
    sent = PartError("Name one:", "a.db", {"x": "1 row"})
    got = pickle.loads(pickle.dumps(sent))
    assert (type(got), str(got), got.parts) == (PartError, "Name one:\n  a.db#x  1 row", {"x": "1 row"})
