from pathlib import Path

from tests.running import Running
from tests.trained import review_rows, write_csv

BLOCKED = """
import sys

def refuse(event, _):
    if event.startswith(("socket.", "urllib.")):  # "socket.__new__" comes before any other
        raise RuntimeError(f"the network was touched: {event}")

sys.addaudithook(refuse)

from glassformer.cli.main import main
from tests.fits import few_steps

def run(*arguments):
    sys.argv = ["glassformer", *arguments]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, arguments

table, folder = sys.argv[1:]
with few_steps():
    run("train", table, "--out", f"{folder}/model", "--preset", "tiny",
        "--set", "training.epochs=1", "--set", "training.min_steps_per_epoch=5")
    run("evaluate", f"{folder}/model", table)
    run("predict", f"{folder}/model", "the plot is thin but i loved it")
    run("align", "pairs", "polarity", "--chosen", "positive", "--out", f"{folder}/pairs")
    run("data", "list")
print("all done")
"""


def test_training_measuring_and_answering_never_touch_the_network(tmp_path: Path) -> None:
    table = write_csv(tmp_path / "reviews.csv", review_rows(300))
    done = Running("-c", BLOCKED, table, tmp_path, log=tmp_path / "log").outcome()
    assert done.code == 0, done.err
    assert done.out.endswith("all done\n")
    assert "the network was touched" not in done.err
