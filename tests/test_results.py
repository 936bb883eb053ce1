"""What the committed results must keep saying about the published systems, and what sentences say of results."""

import math
import re
import statistics
import tomllib
from collections.abc import Callable, Iterable

import pytest

from benchmarks.experiment import RESULTS, ROOT
from benchmarks.tables_common import Document, read
from benchmarks.tables_reproduce import read_results
from glassformer.course.lessons import lessons
from glassformer.experiments.published.systems import SYSTEMS
from glassformer.experiments.published.table import short

# (mean, sample deviation, seeds) of training and test accuracy in a rebuild from the documents' text that shares no
# code with ours; a seed ends far from its neighbours, so only mean and spread can agree.
REBUILT = {
    "bui-dang-rows": ((0.754, 0.182, 25), (0.700, 0.211, 25)),
    "bui-dang-columns": ((0.808, 0.136, 20), (0.780, 0.141, 20)),
}


def runs_of(system: str, variant: str) -> list[Document]:
    runs: list[Document] = read_results(RESULTS / "reproduce")[f"{system}-zhou"]["cells"][variant]["runs"]
    return runs


def accuracies(runs: list[Document]) -> list[float]:
    return [run["accuracy"]["value"] for run in runs]


def assert_agree(ours: list[float], theirs: tuple[float, float, int]) -> None:
    """Means within 2.6 standard errors of their difference (p > .01), deviations within a factor of two (F test)."""
    mean, deviation, seeds = theirs
    own = statistics.stdev(ours)
    error = math.sqrt(own**2 / len(ours) + deviation**2 / seeds)
    assert abs(statistics.mean(ours) - mean) < 2.6 * error
    assert 0.5 < own / deviation < 2


@pytest.mark.parametrize("system", REBUILT)
def test_the_literal_systems_agree_with_an_independent_rebuild(system: str) -> None:
    literal = runs_of(system, "literal")
    assert [run["seed"] for run in literal] == list(range(25))
    training, test = REBUILT[system]
    assert_agree([run["training_accuracy"] for run in literal], training)
    assert_agree(accuracies(literal), test)


@pytest.mark.parametrize("system", REBUILT)
def test_one_standard_block_solves_what_they_were_built_for(system: str) -> None:
    corrected = accuracies(runs_of(system, "corrected"))
    assert len(corrected) >= 10
    assert statistics.mean(corrected) >= 0.98


WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def result(name: str) -> Document:
    return read(RESULTS / f"{name}.json")


def by_table(name: str, *parts: str) -> list[list[Document]]:
    """The lines of a result that differ in their seeds alone."""
    grouped: dict[tuple[object, ...], list[Document]] = {}
    for line in result(name)["lines"]:
        grouped.setdefault(tuple(line[part] for part in parts), []).append(line)
    return list(grouped.values())


def range_of(values: Iterable[float], form: str = "{:.0%}") -> list[str]:
    found = list(values)
    return [form.format(min(found)), form.format(max(found))]


def doubtful() -> list[str]:
    cells = [[line["listed"]["glassformer"] for line in lines] for lines in by_table("label-doctor", "table", "share")]
    return [
        *range_of(statistics.mean(each["precision"] for each in cell) for cell in cells),
        *range_of(statistics.mean(each["recall"] for each in cell) for cell in cells),
    ]


def relabelled(version: str, share: float, form: str) -> list[str]:
    """What a version of the mended table changes, in points of accuracy."""
    cells = [lines for lines in by_table("label-doctor", "table", "share") if lines[0]["share"] == share]
    accuracy = [[line["accuracy"] for line in lines] for lines in cells]
    changes = [
        statistics.mean(each[f"doubtful rows {version}"] - each["wrong labels"] for each in cell) for cell in accuracy
    ]
    return [each.removeprefix("0") for each in range_of((100 * abs(change) for change in changes), form)]


def chosen_texts() -> list[str]:
    tables = by_table("label-next", "table")
    gains = [
        statistics.mean(sum(line["accuracy"]["chosen"]) - sum(line["accuracy"]["random"]) for line in lines)
        for lines in tables
    ]
    return [WORDS[sum(gain > 0 for gain in gains)], WORDS[len(tables)]]


def automatic() -> list[str]:
    shares = [next(each for each in line["shares"] if each["asked"] == 0.9) for line in result("automatic")["lines"]]
    worse = [short(each["error"]) for each in shares if each["error"] > each["held_out_error"]]
    most = max(each["error"] - each["held_out_error"] for each in shares)
    return [WORDS[len(worse)], WORDS[len(shares)], short(most)]


def few_unequal() -> list[str]:
    gains = [
        [line["over"]["TF-IDF + logistic regression"]["value"] for line in lines]
        for lines in by_table("few-unequal", "rows")
    ]
    return [short(statistics.mean(each)) for each in gains]


def encoder() -> list[str]:
    lines = result("encoder")["lines"]
    defaults = {
        (each["table"], each["rows"]): each["contestants"]["glassformer"] for each in result("few-labels")["lines"]
    }
    better = sum(line["over"]["counting and the body"]["low"] > 0 for line in lines)
    above = sum(
        line["contestants"]["counting and the encoder"]["accuracy"]["value"]
        > defaults[line["table"], line["rows"]]["accuracy"]["value"]
        for line in lines
    )
    return [str(better), str(len(lines)), str(above)]


def slices() -> list[str]:
    found = result("slices")
    assert all(each["compared"] == each["worse_later"] for each in found["real"])
    alarms = range_of((100 * each["alarms"]["value"] for each in found["nothing_worse"]), "{:g}")
    return [WORDS[sum(each["compared"] for each in found["real"])], *alarms]


def one_epoch() -> list[str]:
    """What one epoch costs a transformer alone, in points of accuracy."""
    found: dict[tuple[str, str], list[float]] = {}
    for each in result("audit")["ways"]:
        found.setdefault((each["table"], each["way"]), []).append(100 * each["others_accuracy"])
    means = {key: statistics.mean(values) for key, values in found.items()}
    return [
        f"{means[table, 'the transformer alone'] - means[table, 'one epoch']:.0f}"
        for table in ("disaster-tweets", "trec")
    ]


def reasons() -> list[str]:
    (polarity,) = (each for each in result("faithfulness")["data"] if each["data"] == "polarity")
    return [f"{polarity['methods'][name]['first']['value']:.0%}" for name in ("rollout", "shapley")]


def variants() -> list[str]:
    found = result("variants/disaster-tweets")
    learned = 0.9 * (found["data"]["rows"] - found["data"]["measured_rows"])
    return [str(len(found["variants"])), f"{round(learned, -2):,.0f}"]


def fifteen_minutes() -> list[str]:
    seconds = {each["command"].split()[1]: each["seconds"] for each in result("fifteen-minutes")["commands"]}
    others = (taken for name, taken in seconds.items() if name not in ("desk", "train"))
    return [f"{seconds['desk']:.0f}", f"{seconds['train']:.0f}", str(math.ceil(max(others)))]


def policies() -> list[str]:
    runs = result("assistant")["runs"]
    above = min(value for run in runs for name, value in run["reward"].items() if name.startswith("above_"))
    worst = result("assistant-2-threads")["worst"]
    lowest = min(value for name in ("dpo", "ppo", "grpo") for value in worst[name].values())
    return [WORDS[len(runs)], str(math.floor(100 * above)), f"{100 * lowest:.1f}"]


def pretrained() -> list[str]:
    return [short(result(name)["accuracy"]["mean"]) for name in ("imdb-pretrained", "imdb")]


def dependencies() -> list[str]:
    return [WORDS[len(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"])]]


def bench() -> list[str]:
    found = result("bench-of-tables/test")
    tables = found["entries"]
    rows = [run["training_rows"] for each in tables for run in each["runs"]]
    assert found["summary"]["worse"] == found["best"]["worse"] == 0
    assert len(found["seeds"]) == 1
    alone = [
        (each["contestants"]["transformer"]["accuracy"], each["contestants"]["counting"]["accuracy"])
        for each in tables
        if "transformer" in each["contestants"]
    ]
    less = sum(transformer < counting for transformer, counting in alone)
    return [
        str(len(tables)), str(min(rows)), f"{max(rows):,}", str(found["summary"]["better"]),
        str(less), str(len(alone)), str(found["best"]["better"]),
    ]  # fmt: skip


HOW, TO = "docs/how-it-works", "docs/how-to"
SAID: list[tuple[str, str, Callable[[], list[str]]]] = [
    ("README.md", r"(\w+) published systems, as printed", lambda: [WORDS[len(SYSTEMS)]]),
    (
        "README.md",
        r"defaults on \[(\d+) tables\]\S+ with (\d+) to (\S+) rows, one .*? on (\d+) tables, and significantly less "
        r"accurate on none\. .* on (\d+) of the (\d+) tables .* win on (\d+) and lose on none\.",
        bench,
    ),
    ("CONTRIBUTING.md", r"It has (\w+) dependencies", dependencies),
    ("docs/index.md", r"apart in (\w+) short lessons", lambda: [WORDS[len(lessons())]]),
    (f"{HOW}/labels.md", r"rows, (\d+%) to (\d+%) are wrong, and (\d+%) to (\d+%) of all", doubtful),
    (f"{HOW}/labels.md", r"gains (\d) to (\d) points", lambda: relabelled("checked", 0.2, "{:.0f}")),
    (f"{HOW}/labels.md", r"lose (\.\d) to (\.\d) points", lambda: relabelled("relabelled", 0.05, "{:.1f}")),
    (f"{HOW}/labels.md", r"more than random ones on (\w+) of (\w+) tables", chosen_texts),
    (f"{HOW}/automatic.md", r"says on (\w+) of (\w+) tables, by (\S+) at most", automatic),
    (f"{HOW}/few-labels.md", r"20 rows gain (\.\d+) over TF-IDF, 60 (\.\d+), 200 (\.\d+) ", few_unequal),
    (f"{HOW}/few-labels.md", r"the body on (\d+) of (\d+) lines\. .*? today's defaults on (\d+)\.", encoder),
    (f"{HOW}/slices.md", r"each of the (\w+) that could .* named in (\S+)% to (\S+)% of the tables", slices),
    (f"{HOW}/audit.md", r"costs (\d+) points of accuracy on tweets, and (\d+) on `trec`", one_epoch),
    (f"{HOW}/faithfulness.md", r"`rollout` is best \((\d+%) of the texts\), and `shapley` follows \((\d+%)\)", reasons),
    (f"{HOW}/variants.md", r"(\d+) variants of the tiny preset .* on (\S+) short tweets", variants),
    (f"{HOW}/assistant.md", r"Each of the (\w+) reward models .* at least (\d+)% .* a share below (\S+)%", policies),
    (f"{TO}/fifteen-minutes.md", r"took (\d+) s, `train` (\d+) s, and each other command (\d+) s", fifteen_minutes),
    (f"{TO}/pretraining.md", r"pre-training \[has (\.\d+), the default (\.\d+)\]", pretrained),
]  # fmt: skip


@pytest.mark.parametrize(("page", "sentence", "figures"), SAID, ids=[f"{page} {said[:20]}" for page, said, _ in SAID])
def test_a_sentence_says_what_was_measured(page: str, sentence: str, figures: Callable[[], list[str]]) -> None:
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    (said,) = re.findall(sentence, text)
    assert ([said] if isinstance(said, str) else list(said)) == figures()


def test_which_aims_of_speed_are_reached() -> None:
    """docs/how-it-works/results.md: five times the texts per second, and a third of the time for one text."""
    found = {each["name"]: each for each in result("answering-speed")["contestants"]}
    for texts in ("tweets", "reviews"):
        pipeline = found["transformers pipeline, BERT"][texts]
        both, alone = (found[name][texts] for name in ("glassformer, counting and the body", "glassformer"))
        assert both["texts_per_second"] >= 5 * pipeline["texts_per_second"] > alone["texts_per_second"]
        assert both["p50_ms"] <= pipeline["p50_ms"] / 3 < alone["p50_ms"]
