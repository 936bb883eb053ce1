import re
from pathlib import Path

from benchmarks.experiment import RESULTS, ROOT
from benchmarks.tables import kinds
from benchmarks.tables_common import fill
from tests.benchmarks.samples import shown


def estimate(value: float, width: float = 0.1) -> dict[str, float]:
    return {"value": value, "low": value - width, "high": value + 2 * width}


def test_every_result_is_shown_and_what_has_none_is_said(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-it-works" / "new-words.md").read_text(encoding="utf-8")
    shown = re.findall(r"<!-- new-words: (\S+) -->", page)
    assert {file.stem for file in (RESULTS / "new-words").glob("*.json")} <= set(shown)
    assert fill(page, kinds(tmp_path)).count("-->\nNot measured yet.\n<!-- end -->") == len(shown) == 3


def test_a_classifiers_words(tmp_path: Path) -> None:
    conditions = {
        "unknown token": {"accuracy": estimate(0.7), "above_unknown": estimate(0.0, 0.0)},
        "ours": {"accuracy": estimate(0.75), "above_unknown": estimate(0.05), "cosine": estimate(0.125)},
    }
    of_kind = {"hidden": 3, "test_texts": 1_234, "test_words": 2, "conditions": conditions}
    document = {
        "data": {"name": "imdb", "training_texts": 25_000, "left_out": 12},
        "seeds": [0, 1],
        "results": {
            "bearing": of_kind | {"learned": [2, 3]},
            "random": of_kind | {"learned": [3, 3], "of_test_texts": 5_678},
        },
    }
    text = shown("new-words", "imdb", tmp_path, document)
    assert "bear on the label: 3 hidden, 2 to 3 learned; 1,234 test texts contain such a word. The first" in text
    assert "one in each text gives 2 different words.\n\n| read" in text
    assert "Random words" not in text
    assert text.count("| unknown token | .700 [.600, .900] | – | – |") == 1
    assert "| ours | .750 [.650, .950] | +.050 [−.050, +.250] | +.125 |" in text
    assert (
        "Data: `imdb`, 25,000 training texts (12 others equal a test text and were left out); seeds 0–1. Means" in text
    )


def test_a_language_models_words(tmp_path: Path) -> None:
    ours = {
        "after": estimate(4.875),
        "after_above_unknown": estimate(-0.125),
        "elsewhere": estimate(8e-6, 1e-6),
        "share": estimate(0.0125, 0.001),
        "gain": estimate(0.5, 1.0),
    }
    document = {
        "data": {"name": "imdb", "training_sentences": 9_000, "left_out": 80},
        "sentences": {"with_a_word": 1_400, "elsewhere": 300},
        "hidden": 3,
        "learned": 2,
        "rare_words": 9.5e-6,
        "seed": 4,
        "steps": 700,
        "conditions": {"unknown token": {"after": estimate(5.0)}, "map, placed (ours)": ours},
    }
    text = shown("new-words", "lm-imdb", tmp_path, document)
    assert "| unknown token | 5.000 [4.900, 5.200] | – | – | – | – |" in text
    row = "4.875 [4.775, 5.075] | −0.125 [−0.225, +0.075] | 8.0 [7.0, 10.0] | 1.25 [1.15, 1.45] | +0.50 [−0.50, +2.50]"
    assert f"| map, placed (ours) | {row} |" in text
    assert "rarer half: 9.5 elsewhere" in text
    assert (
        "9,000 training sentences, 80 others left out; 2 of 3 hidden words learned, 1,400 test sentences with" in text
    )
    assert "700 steps, seed 4." in text


def test_what_the_page_names_exists() -> None:
    page = ROOT / "docs" / "how-it-works" / "new-words.md"
    text = page.read_text(encoding="utf-8")
    tests = "\n".join(file.read_text(encoding="utf-8") for file in (ROOT / "tests").rglob("test_*.py"))
    for name in re.findall(r"`(test_\w+)`", text):
        assert f"def {name}(" in tests, name
    for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", text):
        assert (page.parent / target).exists(), target
