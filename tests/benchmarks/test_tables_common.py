import json
from pathlib import Path

import pytest

from benchmarks.tables_common import command_today, fill, from_file, seeds_in_words

MACHINE = {
    "architecture": "abc",
    "system": "Linux",
    "cores": 5,
    "python": "3.12.4",
    "threads": 3,
    "processor": "Abacus 7",
}


@pytest.mark.parametrize(
    ("changes", "said"), [("", ""), (" with uncommitted changes", "commit 0123456789 with uncommitted changes; ")]
)
def test_each_table_names_its_machine_and_command(tmp_path: Path, changes: str, said: str) -> None:
    found = {
        "command": "python -m benchmarks.a imdb",
        "machine": MACHINE,
        "versions": {"torch": "2.13.0"},
        "commit": f"0123456789abcdef{changes}",
        "rows": 12,
    }
    (tmp_path / "one.json").write_text(json.dumps(found), encoding="utf-8")
    kinds = {"kind": from_file(tmp_path, lambda found: ["first", f"{found['rows']} rows"])}
    page = "before\n<!-- kind: one -->\nold\nlines\n<!-- end -->\nbetween\n<!-- kind: two -->\n<!-- end -->\n"
    assert fill(page, kinds) == (
        "before\n<!-- kind: one -->\nfirst\n\n12 rows\n\n"
        f"5 cores (Abacus 7), 3 threads; {said}`python -m benchmarks.a imdb`\n<!-- end -->\nbetween\n"
        "<!-- kind: two -->\nNot measured yet.\n<!-- end -->\n"
    )
    with pytest.raises(KeyError, match="other"):
        fill("<!-- other: one -->\n<!-- end -->\n", kinds)


def test_seeds_in_words() -> None:
    assert [seeds_in_words(seeds) for seeds in ([3], [0, 1, 2, 3, 4])] == ["seed 3", "seeds 0–4"]


def test_a_result_of_a_script_is_run_again_as_a_module() -> None:
    assert (
        command_today("python benchmarks/accuracy.py zhou --seeds 10")
        == "python -m benchmarks.accuracy zhou --seeds 10"
    )
    assert command_today("python -m benchmarks.accuracy zhou") == "python -m benchmarks.accuracy zhou"
