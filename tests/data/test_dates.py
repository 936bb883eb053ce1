import calendar
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from glassformer.data.column_kinds import is_number_or_date
from glassformer.data.dates import dates_of, shown_date, with_dates
from glassformer.data.table import read_table, tidy_values
from glassformer.errors import UsageError

DAY, CLOCK = datetime(2024, 3, 1), datetime(2024, 3, 1, 14, 5)


def read(*cells: str) -> list[datetime]:
    found: list[datetime] = dates_of(
        pl.Series(cells), pl.Series(range(1, len(cells) + 1)), "t.csv, column 'd'"
    ).to_list()
    return found


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("2024-03-01", DAY),
        ("2024-3-1", DAY),
        ("2024/03/01", DAY),
        ("2024-03", DAY),
        ("2024-03-01T14:05:59.123Z", CLOCK + timedelta(seconds=59)),
        ("2024-03-01 14:05:00+02:00", CLOCK - timedelta(hours=2)),
        ("2024-03-01 14:05 -0530", CLOCK + timedelta(hours=5, minutes=30)),
        ("2024-03-01 02:05 PM", CLOCK),
        ("2024-03-01 12:05 a.m.", DAY + timedelta(minutes=5)),
        ("1.3.2024", DAY),
        ("01.03.24 14:05", CLOCK),
        ("01.03.99", datetime(1999, 3, 1)),
        ("1 March 2024", DAY),
        ("01-Mar-2024", DAY),
        ("1-Mar-24", DAY),
        ("01 March 24 14:05", CLOCK),
        ("Mar 1, 24", DAY),
        ("Mar-24", DAY),
        ("1-Mar-99", datetime(1999, 3, 1)),
        ("1 mars 2024", DAY),
        ("Mar 1st, 2024", DAY),
        ("Friday, March 1, 2024 14:05", CLOCK),
        ("Fri, 01 Mar 2024 14:05:00 GMT", CLOCK),
        ("Fri Mar 01 14:05:00 +0000 2024", CLOCK),
        ("Fri Mar 01 14:05:00 PDT 2024", CLOCK),
        ("March 2024", DAY),
        ("2024", datetime(2024, 1, 1)),
        ("202403", DAY),
        ("20240301", DAY),
        ("20240301140500", CLOCK),
        ("45352", DAY),
        ("45352.5", DAY + timedelta(hours=12)),
        ("1709251200", DAY),
        ("1709251200000", DAY),
        ("1709251200000000", DAY),
        ("1709251200000000000", DAY),
    ],
)
def test_the_usual_spellings(cell: str, expected: datetime) -> None:
    assert read(cell) == [expected]


@pytest.mark.parametrize("name", calendar.month_name[1:])
def test_months_by_their_names(name: str) -> None:
    month = [*calendar.month_name].index(name)
    for spelled in (name, name[:3], name[:3].upper() + "."):
        assert read(f"1 {spelled} 2024") == [datetime(2024, month, 1)]
        assert is_number_or_date(f"1 {spelled} 2024")


def test_a_number_beyond_twelve_tells_the_day_from_the_month() -> None:
    assert read("01/03/2024", "25/03/2024 14:05") == [DAY, datetime(2024, 3, 25, 14, 5)]
    assert read("03/01/2024", "3/25/24", "2024-03-01") == [DAY, datetime(2024, 3, 25), DAY]
    assert read("03-03-2024") == [datetime(2024, 3, 3)]  # the same either way


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["2024-03-01", "soon", "soon"], r"t\.csv, column 'd': 'soon' \(rows 2 and 3\) is not a date. Write.*`time=`"),
        (["2024-02-30"], r"'2024-02-30' \(row 1\) is not a date"),
        (["2024-01-01 25:00"], "is not a date"),
        (["31/02/2024"], "is not a date"),
        (["12:30"], "is not a date"),
        (["1", "2"], r"'1' \(row 1\) is not a date"),
        (["1 Market 2024"], "is not a date"),
        (["Mar 24"], "is not a date"),
        (["nan", "inf"], "is not a date"),
        (["9999-12-31 23:00-05:00"], r"'9999-12-31 23:00-05:00' \(row 1\) is not a date"),
        (["0000-01-01"], "is not a date"),
        (["0001-01-01 00:00+01:00"], "is not a date"),
        (["2024-03-01 12:00+99:00"], "is not a date"),
        (
            ["03/03/2024", "01/02/2024"],
            r"which number of '01/02/2024' \(row 2\) is the day and which the month, and no",
        ),
        (
            ["25/01/2024", "01/25/2024"],
            r"'25/01/2024' \(row 1\) has the day first, and '01/25/2024' \(row 2\) has the mon",
        ),
    ],
)
def test_a_cell_that_cannot_be_read_is_named(cells: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(*cells)


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([date(2024, 3, 1)]),
        pl.Series([datetime(2024, 3, 1)], dtype=pl.Datetime("ns")),
        pl.Series([datetime(2024, 3, 1, tzinfo=UTC)], dtype=pl.Datetime("ms", "UTC")),
        pl.Series([datetime(2024, 3, 1, tzinfo=UTC)], dtype=pl.Datetime("us", "UTC")).dt.convert_time_zone(
            "Asia/Tokyo"
        ),
        pl.Series([1709251200]),
        pl.Series([1709251200.0]),
        pl.Series([1709251200000.0]),
    ],
)
def test_columns_of_parquet(values: pl.Series) -> None:
    assert dates_of(tidy_values(values), pl.Series([1]), "t").to_list() == [DAY]


def test_a_table_is_read_with_its_dates(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("text,label,day\na,x,2024-03-01\n,x,soon\nb,y,2024-03-02\nc,,later\n")
    table = read_table(tmp_path / "t.csv", time="day")
    assert with_dates(table, "day").frame["time"].to_list() == [DAY, datetime(2024, 3, 2)]  # of the rows in use alone
    (tmp_path / "t.csv").write_text("text,label,day\na,x,2024-03-01\nb,x,\nc,y,soon\n")
    with pytest.raises(UsageError, match=r"row 2 has no value in the time column 'day'. Fill it in"):
        read_table(tmp_path / "t.csv", time="day")


def test_dates_are_shown_with_the_time_of_day_if_there_is_one() -> None:
    assert shown_date(DAY, pl.Series([DAY])) == "2024-03-01"
    assert shown_date(DAY, pl.Series([DAY, CLOCK])) == "2024-03-01 00:00"


def test_a_date_with_many_blanks_is_looked_at_once() -> None:
    blanks = " " * 1_000_000  # each two of its parts could be blanks of the clock in a million ways: hours
    assert not is_number_or_date(f"2024-03-01 {blanks}x")
    assert is_number_or_date(f"2024-03-01 {blanks}14:05 pm")
