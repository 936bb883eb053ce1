from benchmarks.experiment import RESULTS
from benchmarks.fifteen_minutes import PAGE, commands
from benchmarks.tables_common import read

BY_PROGRAM = {"examples/tickets.py", "desk", "serve", "labels", "train", "predict", "explain"}


def test_the_commands_of_the_page_are_found() -> None:
    found = list(commands(PAGE.read_text(encoding="utf-8")))
    assert {words[1] for words in found} == BY_PROGRAM
    assert ["glassformer", "labels", "tickets.xlsx", "--next", "50", "tickets.xlsx"] in found


def test_each_of_them_was_timed() -> None:
    timed = [each["command"].split()[1] for each in read(RESULTS / "fifteen-minutes.json")["commands"]]
    assert set(timed) == BY_PROGRAM - {"serve"}
    assert all(each["seconds"] > 0 for each in read(RESULTS / "fifteen-minutes.json")["commands"])
