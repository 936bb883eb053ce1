"""How long threads that compute together wait for each other before they sleep."""

import os

_SPINS, _MILLISECONDS = "1000", "1"


def wait_briefly() -> None:
    """Let OpenMP's threads spin only for a short time while they wait. Call it before torch is imported.

    The layers of a small model take microseconds, and a thread that sleeps wakes up too late for them. One that spins
    for longer slows down other programs, above all a second run. `GOMP_SPINCOUNT` is read by GNU's library (Linux;
    1,000 are about 15 microseconds), `KMP_BLOCKTIME` by LLVM's and Intel's (macOS, Windows; milliseconds). What the
    user has set stays.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", _SPINS)
        os.environ.setdefault("KMP_BLOCKTIME", _MILLISECONDS)
