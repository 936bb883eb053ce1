from pathlib import Path

import pytest

from glassformer.errors import UsageError
from glassformer.readers.rules.parsing import MOST_PATTERNS, parse_rules, read_rules
from glassformer.readers.rules.saying import LabelSaying, NumberSaying, Saying

LABELS = ("billing", "automatic reply", "not here", "class 1", "1")
SAYING = LabelSaying(labels=LABELS, several=False)
NUMBER = NumberSaying(column="price", mean=10, deviation=4)


def only(line: str, labels: tuple[str, ...] = LABELS) -> tuple[str, bool, float | None, bool]:
    (rule,) = parse_rules(line, LabelSaying(labels=labels, several=False), "rules.txt")
    return labels[rule.label], rule.negated, rule.weight, rule.always


def refused(content: str, saying: Saying = SAYING) -> str:
    with pytest.raises(UsageError) as refusal:
        parse_rules(content, saying, "rules.txt")
    return refusal.value.message


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ('"chargeback" -> billing', ("billing", False, None, False)),
        ('"out of office" -> automatic reply   always', ("automatic reply", False, None, True)),
        ('"refund" -> billing 1.5', ("billing", False, 1.5, False)),
        ('"password"->not billing', ("billing", True, None, False)),
        ('"password" -> not billing .5', ("billing", True, 0.5, False)),
        ('"a" -> not here', ("not here", False, None, False)),
        ('"a" -> not not here 2', ("not here", True, 2.0, False)),
        ('"a" -> class 1', ("class 1", False, None, False)),
        ('"a" -> 1', ("1", False, None, False)),
        ('"a" -> 1 1', ("1", False, 1.0, False)),
        ('"a" -> "class 1" always', ("class 1", False, None, True)),
    ],
)
def test_a_line_is_a_rule_and_the_longest_label_counts(line: str, read: tuple[str, bool, float | None, bool]) -> None:
    assert only(line) == read


def test_phrases_are_words_and_may_hold_quotes_and_arrows_and_patterns_stay_as_they_are() -> None:
    phrase, pattern, ignoring = parse_rules(
        '# a remark\n\n"Say "hi" -> now" -> billing\n/\\bINV-\\d{6}\\b/ -> billing\n  /a/b/i -> billing 2\n',
        SAYING,
        "r",
    )
    assert phrase.phrase == ("say", '"', "hi", '"', "-", ">", "now")
    assert phrase.written == '"Say "hi" -> now"'
    assert (pattern.pattern, pattern.written) == (r"\bINV-\d{6}\b", r"/\bINV-\d{6}\b/")
    assert ignoring.pattern == "(?i)a/b"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("refund -> billing", 'refund -> billing is not a rule; write "a phrase" -> billing'),
        ('"refund" -> biling 2', "no label 'biling'. Did you mean 'billing'?"),
        ('"refund" -> zzz # why', "no label 'zzz # why'. The labels are billing, automatic reply"),
        (
            '"refund" -> billing -1',
            "the weight -1 is not above 0 and at most 20; to speak against a label, write `not`",
        ),
        ('"refund" -> billing 21', "the weight 21 is not above 0 and at most 20"),
        ('"refund" -> not billing always', "`always` decides for a label, not against one"),
        ('"  " -> billing', "the phrase has no word"),
        (f'"{"a " * 21}" -> billing', "the phrase has 21 words, and at most 20"),
        ("/(/ -> billing", "the pattern ( cannot be used: unclosed group"),
        ("/(?<=a)b/ -> billing", "look-around, including look-ahead and look-behind, is not supported"),
        (r"/\w{1000}/ -> billing", "cannot be used: "),
        (f"/{'a' * 501}/ -> billing", "the pattern has 501 characters, and at most 500"),
        ("/a*/ -> billing", "the pattern a* matches a text without any character"),
    ],
)
def test_what_is_no_rule_is_refused_with_its_line(line: str, says: str) -> None:
    said = refused(f'# first\n"ok" -> billing\n{line}\n')
    assert said.startswith("rules.txt, line 3: ")
    assert says in said


@pytest.mark.parametrize(
    ("said", "weight", "always", "named"),
    [
        ("+2", 2, False, "+2"),
        ("-.5", -0.5, False, "-0.5"),
        ("0 always", 0, True, "0 always"),
        ("-1234567.5  always", -1234567.5, True, "-1234567.5 always"),
        ("+3 always", 3, True, "3 always"),
    ],
)
def test_of_a_number_a_rule_adds_or_decides(said: str, weight: float, always: bool, named: str) -> None:
    (rule,) = parse_rules(f'"a" -> {said}', NUMBER, "rules.txt")
    assert (rule.weight, rule.always, NUMBER.named(rule)) == (weight, always, named)


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ("cheap", "'cheap' says nothing about a number; write +2 or -2, which is added to 'price', or 2 always"),
        ("2", "write +2 to add it, or 2 always to decide"),
        ("always", "'always' says nothing about a number"),
        ("not +2", "'not +2' says nothing about a number"),
    ],
)
def test_of_a_number_everything_else_is_refused(said: str, says: str) -> None:
    message = refused(f'"ok" -> +1\n"a" -> {said}', NUMBER)
    assert message.startswith("rules.txt, line 2: ")
    assert says in message


def test_a_file_has_some_rules_and_not_too_many() -> None:
    assert 'holds no rule; write one on each line, such as "refund" -> billing' in refused("# nothing\n")
    assert "holds 5,001 rules, and a model has at most 5,000" in refused('"a" -> 1\n' * 5001)
    many = "/a/ -> 1\n" * (MOST_PATTERNS + 1)
    assert f"holds {MOST_PATTERNS + 1} patterns" in refused(many)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for name, content, says in (
        ("large.txt", b"#" * 1_000_001, "is larger than 1,000,000 bytes"),
        ("latin.txt", "é".encode("latin-1"), "is not in UTF-8"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match=says):
            read_rules(tmp_path / name)
    with pytest.raises(UsageError, match="No such file"):
        read_rules(tmp_path / "none.txt")
    (tmp_path / "bom.txt").write_bytes('\ufeff"é" -> a'.encode())
    assert read_rules(tmp_path / "bom.txt") == '"é" -> a'
