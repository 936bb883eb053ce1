"""Threads that wait for each other soon sleep, unless the user says otherwise."""

import os
import subprocess
import sys

import pytest

CODE = """
import os, sys
from glassformer.cli.main import main
sys.argv = ["glassformer", "--help"]
try:
    main()
finally:
    print(os.environ.get("GOMP_SPINCOUNT"), os.environ.get("KMP_BLOCKTIME"), "torch" in sys.modules)
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "1000 1 False"),
        ({"GOMP_SPINCOUNT": "7"}, "7 1 False"),
        ({"KMP_BLOCKTIME": "200"}, "1000 200 False"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "None None False"),
    ],
)
def test_the_command_line_sets_how_long_threads_wait(given: dict[str, str], expected: str) -> None:
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
    environment = {name: value for name, value in os.environ.items() if name not in names} | given
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == expected
