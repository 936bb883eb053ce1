import os
import subprocess
import sys
from pathlib import Path

BLOCKED = """
import sys

def refuse(event, _):
    if event.startswith(("socket.", "urllib.")):  # "socket.__new__" comes before any other
        raise RuntimeError(f"the network was touched: {event}")

sys.addaudithook(refuse)

from glassformer.cli.main import main

def run(*arguments):
    sys.argv = ["glassformer", *arguments]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, arguments

model = sys.argv[1]
run("train", "polarity", "--out", model, "--preset", "tiny",
    "--set", "training.epochs=1", "--set", "training.min_steps_per_epoch=5")
run("evaluate", model, "polarity")
run("predict", model, "the plot is thin but i loved it")
run("data", "list")
print("all done")
"""


def test_training_measuring_and_answering_never_touch_the_network(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, str(tmp_path / "model")],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all done\n")
    assert "the network was touched" not in done.stderr
