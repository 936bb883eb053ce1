"""The `glassformer` command, and `python -m glassformer`."""

import atexit
import gc
import signal
import sys
from types import FrameType


class _Stopped(KeyboardInterrupt):
    """Ctrl-C. Where a plain KeyboardInterrupt passes through `eval`, as in many imports, Python ends the process by the
    signal at the end, even if it was caught; it does not do so for a class of our own."""


def _stop(number: int, _frame: FrameType | None) -> None:
    raise _Stopped(number)


for _name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the last is not everywhere, and `nohup` has it ignored
    _number = getattr(signal, _name, None)
    if _number is not None and signal.getsignal(_number) in (signal.default_int_handler, signal.SIG_DFL):
        signal.signal(_number, _stop)
atexit.register(gc.freeze)  # the last collections would walk through every row and word once more, for seconds
try:
    from glassformer.cli.main import main
except _Stopped as stopped:  # what answers for it is not there yet
    print("stopped", file=sys.stderr)
    sys.exit(128 + stopped.args[0])

if __name__ == "__main__":
    main()
