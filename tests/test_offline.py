from pathlib import Path

from tests.running import Running

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
    done = Running("-c", BLOCKED, tmp_path / "model", log=tmp_path / "log").outcome()
    assert done.code == 0, done.err
    assert done.out.endswith("all done\n")
    assert "the network was touched" not in done.err
