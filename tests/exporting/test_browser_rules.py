import pytest

from glassformer.errors import UsageError
from glassformer.exporting.browser_rules import page_rules, translated
from glassformer.readers.rules.reader import RulesReader
from glassformer.readers.rules.saying import LabelSaying, NumberSaying


def rules(*lines: str) -> RulesReader:
    return RulesReader.of("\n".join(lines), LabelSaying(labels=("a", "b"), several=False), "rules.txt")


@pytest.mark.parametrize(
    ("pattern", "holds"),
    [
        ("(a+)+", "a repetition within a repetition, +"),
        ("((x{2,}|y)z)+", "a repetition within a repetition, +"),
        ("(?i:a)b", "(?i"),
        ("a(?i)b", "(?i"),
        ("[[:alpha:]]", "[:"),
        ("[a-z&&b]", "&&"),
        ("[]a]", "[]"),
        (r"[\W]", r"\W"),
        (r"\pLu", r"\p"),
        (r"\x41", r"\x"),
        (r"\b{start}a", r"\b"),
        (r"\Aa", r"\A"),
        ("a{2}{3}", "{3} after what is not repeated"),
        ("^*a", "* after what is not repeated"),
        ("(?x) a", "(?x"),
    ],
)
def test_a_pattern_that_a_browser_may_read_otherwise_is_refused_by_name(pattern: str, holds: str) -> None:
    with pytest.raises(UsageError) as refusal:
        page_rules(rules('"ok" -> a', f"/{pattern}/ -> a"))
    assert f"1 pattern may mean something else in a browser: line 2: /{pattern}/ -> a (it holds {holds})" in (
        refusal.value.message
    )


def test_few_of_many_refused_patterns_are_named() -> None:
    with pytest.raises(UsageError, match=r"7 patterns may mean .*: line 1: .*line 5: [^;]* and 2 more\. Write them"):
        page_rules(rules(*(f"/[[:alpha:]]{number}/ -> a" for number in range(7))))


def test_flags_and_groups_are_those_of_the_browser() -> None:
    assert translated("(?i)(?ms)^(?P<year>a.b)$") == {
        "source": r"(?<![^\n])(?:a[\s\S]b)(?![^\n])",
        "flags": "iu",
    }


def test_the_page_gets_what_each_rule_adds_and_decides() -> None:
    found = page_rules(rules('"One  two" -> not a 2', '"x" -> b always'))
    assert found["rules"] == [
        {"phrase": "one two", "label": 0, "added": -2, "decision": 0, "always": False},
        {"phrase": "x", "label": 1, "added": 1000, "decision": 0, "always": True},
    ]
    assert (found["silences"], found["farthest"]) == (False, None)
    number = RulesReader.of('"x" -> 0 always', NumberSaying(column="n", mean=3, deviation=2), "rules.txt")
    assert page_rules(number)["silences"]
    assert page_rules(number)["rules"][0]["added"] == -1.5
