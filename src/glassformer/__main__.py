"""The `glassformer` command, and `python -m glassformer`."""

import atexit
import gc
import sys

from glassformer.data.stopping import StoppedBySignal, raise_if_asked_to_stop

raise_if_asked_to_stop()
atexit.register(gc.freeze)  # the last collections would walk through every row and word once more, for seconds
try:
    from glassformer.cli.main import main
except StoppedBySignal as stopped:  # what answers for it is not there yet
    print("stopped", file=sys.stderr)
    sys.exit(128 + stopped.args[0])

if __name__ == "__main__":
    main()
