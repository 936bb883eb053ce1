"""Processes that run tests have what every test shares; the one that hands tests out to them imports nothing for it."""

import os

import pytest


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    config = pluginmanager.getplugin("pytestconfig")
    assert isinstance(config, pytest.Config)
    hands_out = getattr(config.known_args_namespace, "numprocesses", None) and "PYTEST_XDIST_WORKER" not in os.environ
    if not hands_out:
        pluginmanager.import_plugin("tests.every_test")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes seconds; leave out with -m 'not slow'")
    config.addinivalue_line("markers", "mended: an attack that ended badly when it was first tried")
