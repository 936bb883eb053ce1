"""Address one table of a file that holds several: a sheet, a table of a database, a member of an archive.

```
book.xlsx#Sheet2        tickets.sqlite#tickets        reviews.zip#2024/march.csv
```
"""

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from glassformer.errors import UsageError, as_named

MARK = "#"
MOST_LISTED = 20
"""The parts that a message lists."""


class PartError(UsageError):
    """A file holds several tables, and none of them is named, or one that it does not hold.

    Args:
        file: as the user wrote it.
        parts: the names of all tables, each with how large it is, or nothing.
    """

    def __init__(self, message: str, file: Path | str, parts: Mapping[str, str]) -> None:
        super().__init__(message, _sizes(file, parts, str))
        self.file, self.parts = file, parts

    @property
    def typed(self) -> Sequence[str]:
        return _sizes(self.file, self.parts, shlex.quote)

    def __reduce__(self) -> tuple[object, ...]:  # a worker of Ray sends it
        return PartError, (self.message, self.file, self.parts)


def _sizes(file: Path | str, parts: Mapping[str, str], written: Callable[[str], str]) -> list[str]:
    addresses = {written(as_named(f"{file}{MARK}{name}")): size for name, size in parts.items()}
    width = max(map(len, [*addresses][:MOST_LISTED]))
    return listing_of([f"  {address:<{width}}  {size}".rstrip() for address, size in addresses.items()])


def listing_of(lines: Sequence[str]) -> list[str]:
    """Return the first lines of a listing, and how many more there are."""
    more = len(lines) - MOST_LISTED
    return [*lines[:MOST_LISTED], *([f"  and {more:,} more"] if more > 0 else [])]


def split_part(address: Path) -> tuple[Path, str | None]:
    """Return the file, and the part of it that is named after `#`, or None.

    A file whose own name holds a `#` is that file. Without any such file, nothing is split, so that messages name what
    the user wrote.
    """
    if exists(address):
        return address, None
    whole = str(address)
    ends = [place for place, character in enumerate(whole) if character == MARK and place]
    for end in ends:
        path = Path(whole[:end])
        if whole[end + 1 :] and not whole[:end].endswith("/") and exists(path) and not path.is_dir():
            return path, whole[end + 1 :]
    return address, None


def file_of(address: Path) -> Path:
    """Return the file of an address, without the part that it names."""
    return split_part(address)[0]


def with_part(path: Path, part: str) -> Path:
    return Path(f"{path}{MARK}{part}")


def exists(path: Path) -> bool:
    """Whether there is a file or folder of this name."""
    try:
        return path.exists()
    except OSError:  # no file can have such a name
        return False
