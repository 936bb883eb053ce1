"""The `glassformer` command, and `python -m glassformer`."""

import atexit
import gc
import signal
import sys
from types import FrameType


class _Stopped(KeyboardInterrupt):
    """Ctrl-C. Where a plain KeyboardInterrupt passes through `eval`, as in many imports, Python ends the process by the
    signal at the end, even if it was caught; it does not do so for a class of our own."""


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _Stopped


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _stop)
atexit.register(gc.freeze)  # the last collections would walk through every row and word once more, for seconds
try:
    from glassformer.cli.main import main
except KeyboardInterrupt:  # what answers for Ctrl-C is not there yet
    sys.exit("stopped")

if __name__ == "__main__":
    main()
