"""Counts attacks by family, a family being a file: `pytest tests/attacks --attack-figures FILE` writes the figures.

The figures of families that are not run stay in the file.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.conftest import no_data_folder  # noqa: F401 (a fixture)

_TRIED: Counter[str] = Counter()
_WELL: Counter[str] = Counter()
_LOST: Counter[str] = Counter()
_MENDED: Counter[str] = Counter()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--attack-figures", type=Path, help="where to write how many attacks were answered well")


def pytest_itemcollected(item: pytest.Item) -> None:
    item.user_properties.append(("mended", item.get_closest_marker("mended") is not None))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    path = Path(report.nodeid.partition("::")[0])
    if path.parent.name != "attacks" or report.skipped or (report.when != "call" and report.passed):
        return
    family = path.stem.removeprefix("test_")
    _TRIED[family] += 1
    _WELL[family] += report.passed
    _MENDED[family] += dict(report.user_properties).get("mended") is True
    _LOST[family] += report.failed and "LostError" in str(report.longrepr)


def pytest_sessionfinish(session: pytest.Session) -> None:
    file = session.config.getoption("--attack-figures", default=None)
    if file is None or hasattr(session.config, "workerinput"):
        return
    before = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    figures = before | {
        family: {"tried": _TRIED[family], "answered_well": _WELL[family], "lost": _LOST[family]}
        | ({"mended": _MENDED[family]} if _MENDED[family] else {})
        for family in sorted(_TRIED)
    }
    file.write_text(json.dumps(dict(sorted(figures.items())), indent=2) + "\n", encoding="utf-8")
