"""Tables as people export them: a label in several spellings, columns in another order and case."""

from pathlib import Path

import pytest

from tests.cli.terminal import QUICK, glassformer, misused
from tests.trained import Trained, write_csv

HEADER = ("created", "score", "Ticket Text", "Team")
SPELLINGS = {"Billing": ("Billing", "Billing", "billing", "BILLING "), "Bug": ("bug", "Bug", "Bug", "Bug")}


def ticket_rows(count: int) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for number in range(count):
        team = ("Billing", "Bug")[number % 2]
        what = {"Billing": "the invoice is wrong", "Bug": "the page does not load"}[team]
        day, score = f"{number % 28 + 1:02}.01.2024", f"{number / 7:.3f}"
        rows.append((day, score, f"{what} in case {number}", SPELLINGS[team][number // 2 % 4]))
    return rows


@pytest.fixture(scope="module")
def tickets(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("tickets")
    table = write_csv(folder / "tickets.csv", ticket_rows(240), HEADER)
    outcome = glassformer("train", table, "--text", "Ticket Text", "--out", folder / "model", "--fold-labels", *QUICK)
    return Trained(folder=folder / "model", table=table, outcome=outcome)


def test_spellings_are_said_and_joined_where_asked(tickets: Trained, tmp_path: Path) -> None:
    assert "2 labels: " in tickets.outcome.err
    assert "  language: probably English\n" in tickets.outcome.err
    for folded in ("'BILLING' as 'Billing'", "'billing' as 'Billing'", "'bug' as 'Bug'"):
        assert folded in tickets.outcome.err
    assert "label column: 'Team' (by its name)" not in tickets.outcome.err
    assert "warning: some labels" not in tickets.outcome.err
    apart = glassformer("train", tickets.table, "--out", tmp_path / "model", *QUICK)
    assert apart.code == 0
    assert "label column: 'Team' (5 values)" in apart.err
    assert (
        "warning: some labels differ only by case or white space; --fold-labels joins them. 5 labels would be 2: "
        "'Bug' (90) = 'bug' (30); 'Billing' (60) = 'BILLING' (30) = 'billing' (30)\n" in apart.err
    )


def test_an_evaluation_folds_as_training_did(tickets: Trained, tmp_path: Path) -> None:
    header = ("Team", "team text", "ticket_text", "date")
    rows = [(team.upper(), "x", text, day) for day, _, text, team in ticket_rows(40)]
    table = write_csv(tmp_path / "other.csv", rows, header)
    said = glassformer("evaluate", tickets.folder, table, "--out", tmp_path / "e")
    assert said.code == 0, said.err
    assert "TF-IDF" in said.out
    assert "40 labels read in another spelling" in said.err
    answered = glassformer("predict", tickets.folder, "--file", table, "--out", tmp_path / "answers.csv")
    assert answered.code == 0
    assert "text column" not in answered.err  # it is the one of training


def test_a_spelling_that_a_model_does_not_know_is_named_with_the_flag(reviews: Trained, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "t.csv", [("good film", "Very good"), ("bad film", "not, good")] * 5)
    command = ("evaluate", reviews.folder, table, "--out", tmp_path / "e")
    misused(glassformer(*command), "'Very good' (rows 1, 3, 5, 7 and 9)", "'very good' in another spelling", "--fold")
    assert glassformer(*command, "--fold-labels").code == 0


def test_the_doctor_calls_spellings_a_problem(tickets: Trained) -> None:
    found = glassformer("doctor", tickets.table, "--preset", "tiny", "--json")
    (spelling,) = [finding for finding in found.document["findings"] if finding["check"] == "spelling of labels"]
    assert spelling["level"] == "problem"
    assert "5 labels would be 2" in spelling["found"]
    assert "--fold-labels joins them" in spelling["found"]
    assert "text column: 'Ticket Text' (by its name and content)" in found.err
    folded = glassformer("doctor", tickets.table, "--preset", "tiny", "--json", "--fold-labels").document
    assert "spelling of labels" not in {finding["check"] for finding in folded["findings"]}


def test_one_encoding_holds_for_all_tables_of_a_command(tmp_path: Path) -> None:
    reviews = [
        (f"дом {'хорош' if number % 2 else 'плох'} {number}", "да" if number % 2 else "нет") for number in range(60)
    ]

    def written(name: str, rows: list[tuple[str, str]], encoding: str = "cp855") -> Path:
        (tmp_path / name).write_bytes("".join(f"{text},{label}\n" for text, label in rows).encode(encoding))
        return tmp_path / name

    train = written("train.csv", [("text", "label"), *reviews])
    held_out = written("held-out.csv", [("text", "label"), *((f"этот {text}", label) for text, label in reviews[:20])])
    new = written("new.csv", [("text", "label"), *((f"новый {text}", label) for text, label in reviews[:10])])
    texts = tmp_path / "more.txt"
    more = [f"ещё {text}" if place < 40 else text for place, (text, _) in enumerate(reviews)]
    texts.write_bytes("\n".join(more).encode("cp855"))
    flags = ("--set", "training.epochs=1", *QUICK, "--encoding", "cp855", "--out")
    read = glassformer("train", train, "--validation", held_out, "--unlabelled", texts, *flags, tmp_path / "model")
    assert read.code == 0, read.err
    assert "20 unlabelled texts are also training texts" in read.err
    assert "'да' 30" in read.err
    assert "20 rows of" in read.err
    added = glassformer(
        "train", "--init", tmp_path / "model", "--add", new, "--encoding", "cp855", "--out", tmp_path / "b"
    )
    assert added.code == 0, added.err
    assert "'да' 35" in added.err
    command = ("train", "--init", tmp_path / "model", "--add", new, "--out", tmp_path / "c", "--encoding")
    misused(glassformer(*command, "cp1251"), "--encoding cp1251: the old rows of", "are in another encoding")
    answered = glassformer("predict", tmp_path / "model", "--file", "-", "--encoding", "cp855", stdin=new.read_bytes())
    assert "новый дом плох 0,нет,нет," in answered.out
    utf8 = written("utf8.csv", [("text", "label"), *reviews], "utf-8")
    measured = glassformer("evaluate", tmp_path / "model", utf8, "--encoding", "cp855", "--out", tmp_path / "e")
    assert measured.code == 0, measured.err
    assert "note: read as UTF-8 and not as cp855, by line 2 (д)" in measured.err
    again = ("evaluate", tmp_path / "model", train, "--out", tmp_path / "f")
    assert (measured := glassformer(*again)).code == 0, measured.err
    assert "60 of 60 measured texts were also in training" in measured.err


def test_the_encoding_of_the_training_table_may_be_named_when_it_is_read_again(tmp_path: Path) -> None:
    rows = "".join(f"дом {'хорош' if number % 2 else 'плох'} {number},{number % 2}\n" for number in range(60))
    table, moved = tmp_path / "train.csv", tmp_path / "moved.csv"
    table.write_text(f"text,label\n{rows}", encoding="utf-8")
    moved.write_bytes(f"text,label\n{rows}".encode("cp855"))
    flags = ("--preset", "tiny", "--epochs", 0, "--set", "model.body=none")
    assert glassformer("train", table, "--out", tmp_path / "model", *flags).code == 0
    command = ("evaluate", tmp_path / "model", table, "--train", moved, "--out", tmp_path / "e", "--encoding")
    misused(glassformer(*command, "koi8-r"), "does not hold the rows that the model was trained on")
    assert (measured := glassformer(*command, "cp855")).code == 0, measured.err


def test_other_commands_read_in_a_named_encoding_too(reviews: Trained, tmp_path: Path) -> None:
    """No note or guess says that these bytes are cp855: the figures and files show it."""
    pairs = tmp_path / "t.csv"
    rows = "".join(f"этот дом {'хорош' if number % 2 else 'плох'},{number % 2}\n" for number in range(8))
    pairs.write_bytes(f"text,label\n{rows}".encode("cp855"))
    named = ("--encoding", "cp855")
    made = glassformer("align", "pairs", pairs, "--chosen", "1", "--prompt-words", 2, "--out", tmp_path / "p", *named)
    assert made.code == 0, made.err
    assert '"этот дом"' in (tmp_path / "p" / "pairs.jsonl").read_text(encoding="utf-8")
    learned = glassformer("embeddings", pairs, "--out", tmp_path / "body", "--dims", 2, "--min-count", 1, *named)
    assert "near этот: " in learned.out, learned.err
    (tmp_path / "texts.txt").write_bytes("".join(f"этот дом {number}\n\n" for number in range(40)).encode("cp855"))
    tiny = ("--preset", "tiny", "--set", "training.max_steps=1", "--set", "tokenizer.kind=character")
    assert glassformer("pretrain", tmp_path / "texts.txt", "--out", tmp_path / "lm", *tiny, *named).code == 0
    assert '"э"' in (tmp_path / "lm" / "tokenizer.json").read_text(encoding="utf-8")
    (tmp_path / "shards").mkdir()
    (tmp_path / "shards" / "a.csv").write_bytes(pairs.read_bytes())
    folder = ("predict", reviews.folder, "--file", tmp_path / "shards", "--out", tmp_path / "answers")
    assert glassformer(*folder, *named).code == 0
    assert "этот дом хорош" in (tmp_path / "answers" / "a.csv").read_text(encoding="utf-8")
    misused(glassformer(*folder), "was begun with another --encoding, or without it")
    piped = glassformer("predict", reviews.folder, *named, "--jsonl", stdin="этот дом".encode("cp855"))
    assert '"text": "этот дом"' in piped.out
    misused(glassformer("predict", reviews.folder, "дом", *named), "--encoding goes with --file or standard input")
