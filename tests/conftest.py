"""Processes that run tests have what every test shares; the one that hands tests out to them imports nothing for it."""

import os
import tempfile
from pathlib import Path

import pytest
from filelock import FileLock

_COMPILED = Path(__file__).parent / "words" / "__pycache__"
"""The bytecode of the last tests. Where it is missing, nothing was compiled yet: a new machine."""
_turn = FileLock(Path(tempfile.gettempdir()) / f"glassformer-tests-{os.environ.get('PYTEST_XDIST_TESTRUNUID')}.lock")


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    config = pluginmanager.getplugin("pytestconfig")
    assert isinstance(config, pytest.Config)
    works = "PYTEST_XDIST_WORKER" in os.environ
    if works and not _COMPILED.exists():
        _turn.acquire()  # the first process compiles for all, which takes half a minute
    if works or not getattr(config.known_args_namespace, "numprocesses", None):
        pluginmanager.import_plugin("tests.every_test")


def pytest_collection_finish() -> None:
    _turn.release()
    Path(_turn.lock_file).unlink(missing_ok=True)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes seconds; leave out with -m 'not slow'")
    config.addinivalue_line("markers", "mended: an attack that ended badly when it was first tried")
