"""The `glassformer` command, and `python -m glassformer`."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    try:
        started_in = os.getcwd()  # noqa: PTH109
    except OSError:  # it was removed
        started_in = ""
    if sys.path[:1] == [started_in]:
        del sys.path[0]  # a json.py beside a table is not run; so nothing is imported before this

import atexit
import gc

from glassformer.data.stopping import StoppedBySignal, raise_if_asked_to_stop, stop_with_parent

raise_if_asked_to_stop()
stop_with_parent()
atexit.register(gc.freeze)  # the last collections would walk through every row and word once more, for seconds
try:
    from glassformer.cli.main import main
except StoppedBySignal as stopped:  # what answers for it is not there yet
    print("stopped", file=sys.stderr)
    sys.exit(128 + stopped.args[0])

if __name__ == "__main__":
    main()
