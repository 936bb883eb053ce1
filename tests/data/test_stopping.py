import os
import subprocess
import sys

from glassformer.data.stopping import WITH_STDIN

PROGRAM = """
import sys, time
from glassformer.data.stopping import StoppedBySignal, raise_if_asked_to_stop, stop_with_parent, stops_with_parent
raise_if_asked_to_stop()
stop_with_parent()
try:
    print(stops_with_parent(), flush=True)
    time.sleep(int(sys.argv[1]))
except StoppedBySignal:
    print("stopped")
"""


def test_a_program_stops_with_the_one_that_started_it() -> None:
    for asked, seconds, said in ({WITH_STDIN: "yes"}, 60, "stopped\n"), ({}, 0, ""):
        command = [sys.executable, "-c", PROGRAM, str(seconds)]
        with subprocess.Popen(
            command, env=os.environ | asked, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as program:
            assert program.stdout is not None
            assert program.stdout.readline() == f"{bool(asked)}\n"
            assert program.communicate(timeout=30)[0] == said
