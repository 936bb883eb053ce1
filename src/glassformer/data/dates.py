"""Dates and times in the usual spellings: ISO, day first or month first, with names of months, and as numbers.

Numbers are years, months (202403), days (20240301), seconds (20240301123000), days since 1900 as spreadsheets count
them, or seconds, milliseconds, microseconds or nanoseconds since 1970.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl

from glassformer.data.column_kinds import A_MONTH, MONTHS
from glassformer.data.table import Table, row_list
from glassformer.errors import UsageError, quoted

_NAME, _WEEKDAY = rf"(?P<name>{A_MONTH})\.?", r"(?:[a-z]{2,9}\.?,? )?"
_DAY, _YEAR, _SHORT_YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?", r"(?P<year>\d{4})", r"(?P<year>\d{4}|\d{2})"
_CLOCK = (
    r"(?:(?:t|,? +)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,]\d+)?)?(?: ?(?P<half>[ap])\.?m\.?)?"
    r"(?: ?(?P<zone>z|(?:utc|gmt)?[+-]\d{1,2}(?::?\d{2})?|[a-z]{3,4}))?)?"
)
_WORDS = (
    rf"^{_YEAR}[-/.](?P<month>\d{{1,2}})(?:[-/.](?P<day>\d{{1,2}}))?{_CLOCK}$",
    rf"^{_WEEKDAY}{_DAY}[ -]{_NAME},?[ -]{_SHORT_YEAR}{_CLOCK}$",
    rf"^{_WEEKDAY}{_NAME} +{_DAY},? {_SHORT_YEAR}{_CLOCK}$",
    rf"^{_WEEKDAY}{_NAME} +{_DAY}{_CLOCK} {_YEAR}$",
    rf"^{_NAME}[ -]{_YEAR}$",
    rf"^{_NAME}-{_SHORT_YEAR}$",  # with a blank, `Mar 24` may be a day
)
_TWO_NUMBERS = rf"^(?P<one>\d{{1,2}})(?P<by>[-/.]) ?(?P<other>\d{{1,2}})[-/.] ?(?P<year>\d{{4}}|\d{{2}}){_CLOCK}$"
_START_OF_TWO = r"^(?P<one>\d{1,2})(?P<by>[-/.]) ?(?P<other>\d{1,2})[-/.]"
_WRITTEN_AS_NUMBERS = {
    "0101000000": (1e3, 3e3),
    "01000000": (1.9e5, 2.2e5),
    "000000": (1.9e7, 2.2e7),
    "": (1.9e13, 2.2e13),
}
"""Numbers that are years, months, days or seconds, from, to below, by what they lack of a date with seconds."""
_DAYS_OF_SPREADSHEETS = (2e4, 8e4)  # 1954 to 2119
_SINCE_1970 = {"s": (1e8, 1e10, 1e6), "ms": (1e11, 1e13, 1e3), "us": (1e14, 1e16, 1), "ns": (1e17, 1e19, 1e-3)}
"""Units: from, to below, and how many microseconds each has."""
_TO_1970 = 25_569  # days, as spreadsheets count them
_YEARS = 1, 9999  # those that Python writes
_FARTHEST_ZONE = 15 * 60  # minutes


def with_dates(table: Table, column: str) -> Table:
    """Return the table with the cells of its column `time` as dates and times, Datetime("us")."""
    times = dates_of(table.frame["time"], table.frame["row"], table.place(column))
    return replace(table, frame=table.frame.with_columns(time=times))


def dates_of(cells: pl.Series, rows: pl.Series, place: str) -> pl.Series:
    """Return the date and time of each cell, Datetime("us").

    Args:
        cells: stripped strings, none of them null.
        rows: their numbers, for messages.

    Raises:
        UsageError: a cell is not a date, or it cannot be decided whether the day comes first or the month.
    """
    distinct = cells.unique(maintain_order=True)
    spelled = distinct.str.to_lowercase()
    day_first = _day_first(
        spelled, lambda odd: f"{quoted(distinct[odd])} ({_rows(rows, cells == distinct[odd])})", place
    )
    found = _read(spelled, day_first)
    if found.has_nulls():
        first = distinct[int(found.is_null().arg_true()[0])]
        raise UsageError(
            f"{place}: {quoted(first)} ({_rows(rows, cells == first)}) is not a date. Write dates as 2024-03-01 or "
            "2024-03-01 12:30, or name another column with `time=`."
        )
    return cells.to_frame("cell").join(
        pl.DataFrame({"cell": distinct, "time": found}), on="cell", how="left", maintain_order="left"
    )["time"]


def shown_date(time: Any, times: pl.Series) -> str:
    """Return a date as people write it, with the time of day if the column holds such times."""
    with_clock = (times.dt.truncate("1d") != times).any()
    return f"{time:%Y-%m-%d %H:%M}" if with_clock else f"{time:%Y-%m-%d}"


def _rows(rows: pl.Series, which: pl.Series) -> str:
    return row_list(rows.filter(which).to_list())


def _day_first(cells: pl.Series, shown: Any, place: str) -> bool:
    """Return whether the day comes before the month in dates of numbers whose year is last.

    Some cell must tell, as no month is after 12. With dots in between, the day comes first.
    """
    starts = cells.str.slice(0, 7)  # in a million times of day there are few
    apart = starts.unique(maintain_order=True)
    fields = apart.str.extract_groups(_START_OF_TWO).struct.unnest()
    one, other = fields["one"].cast(pl.Int64), fields["other"].cast(pl.Int64)

    def first(which: pl.Series) -> Any:
        return shown((starts == apart.filter(which)[0]).arg_max())

    days, months = (one > 12).fill_null(False), (other > 12).fill_null(False)
    if days.any() and months.any():
        raise UsageError(
            f"{place}: {first(days)} has the day first, and {first(months)} has the month first. Write "
            "all dates alike, as 2024-03-31."
        )
    unclear = (one != other).fill_null(False) & (fields["by"] != ".").fill_null(False)
    if unclear.any() and not days.any() and not months.any():
        raise UsageError(
            f"{place}: it is not clear which number of {first(unclear)} is the day and which the month, and "
            "no other row tells. Write dates as 2024-03-31."
        )
    return not months.any()


def _read(cells: pl.Series, day_first: bool) -> pl.Series:
    """Return the date and time of each cell, null where there is none."""
    one, other = ("day", "month") if day_first else ("month", "day")
    two_numbers = _TWO_NUMBERS.replace("<one>", f"<{one}>").replace("<other>", f"<{other}>")
    found = pl.select(pl.coalesce(*_of_numbers(cells.cast(pl.Float64, strict=False)))).to_series()
    for pattern in (two_numbers, *_WORDS):
        if found.has_nulls() and (fits := found.is_null() & cells.str.contains(pattern)).any():
            fields = cells.filter(fits).str.extract_groups(pattern).struct.unnest()
            found = found.scatter(fits.arg_true(), _of_fields(fields))
    return found


def _of_fields(fields: pl.DataFrame) -> pl.Series:
    """Return the dates that columns of strings spell: the year, the month or its name, and what else there is."""
    usual = {"day": "1", "hour": "0", "minute": "0", "second": "0", "half": "", "zone": ""}
    fields = fields.with_columns(
        (pl.col(name).fill_null(value) if name in fields.columns else pl.lit(value)).alias(name)
        for name, value in usual.items()
    )
    if "name" in fields.columns:
        numbers = {start: str(number) for number, start in enumerate(MONTHS, 1)}
        fields = fields.with_columns(month=pl.col("name").str.head(3).replace(numbers))
    hour = pl.col("hour").cast(pl.Int64)
    hour = (
        pl.when(pl.col("half") == "p").then(hour % 12 + 12).when(pl.col("half") == "a").then(hour % 12).otherwise(hour)
    )
    year = pl.col("year")
    century = pl.when(year.cast(pl.Int64) < 70).then(pl.lit("20")).otherwise(pl.lit("19"))
    year = pl.when(year.str.len_chars() == 2).then(century + year).otherwise(year)
    written = pl.format("{}-{}-{} {}:{}:{}", year, "month", "day", hour, "minute", "second")
    zone = pl.col("zone").str.extract_groups(r"(?P<sign>[+-])(?P<hours>\d{1,2}):?(?P<minutes>\d{2})?$").struct
    minutes = zone.field("hours").cast(pl.Int64) * 60 + zone.field("minutes").fill_null("0").cast(pl.Int64)
    ahead = (minutes * pl.when(zone.field("sign") == "-").then(-1).otherwise(1)).fill_null(0)
    read = written.str.to_datetime("%Y-%m-%d %H:%M:%S", strict=False, time_unit="us") - pl.duration(minutes=ahead)
    is_date = read.dt.year().is_between(*_YEARS) & (ahead.abs() <= _FARTHEST_ZONE)
    return fields.select(pl.when(is_date).then(read)).to_series()


def _of_numbers(numbers: pl.Series) -> list[pl.Series]:
    """Return the dates of numbers, for each way of reading them."""
    found = []
    for rest, (low, high) in _WRITTEN_AS_NUMBERS.items():
        whole = _within(numbers, low, high).cast(pl.Int64).cast(pl.String) + rest
        found.append(whole.str.to_datetime("%Y%m%d%H%M%S", strict=False, time_unit="us"))
    days = (_within(numbers, *_DAYS_OF_SPREADSHEETS) - _TO_1970) * 86_400e6
    epochs = [_within(numbers, low, high) * each for low, high, each in _SINCE_1970.values()]
    return [*found, *(each.cast(pl.Int64).cast(pl.Datetime("us")) for each in (days, *epochs))]


def _within(numbers: pl.Series, low: float, high: float) -> pl.Series:
    return numbers.set(~((numbers >= low) & (numbers < high)).fill_null(False), None)
