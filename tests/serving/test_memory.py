import sys

import numpy as np
import pytest

from glassformer.serving.listening import FreedMemory, resident

MB = 1 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="asks glibc")
def test_what_is_freed_below_something_kept_is_given_back() -> None:
    freed = FreedMemory()
    freed.give_back()
    worth, begun = [freed.is_worth_giving_back], resident()
    large = [np.ones(64 << 10, np.uint8) for _ in range(6_000)]
    kept = large[::300]
    worth.append(freed.is_worth_giving_back)
    del large
    assert resident() > begun + 100 * MB  # glibc holds what is freed below something else
    freed.give_back()
    assert resident() < begun + 30 * MB
    assert worth == [False, True]
    assert len(kept) == 20
