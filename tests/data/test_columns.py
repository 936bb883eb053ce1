"""Headers as people have them: which column is taken for the text, which for the label, and which never."""

from collections.abc import Sequence

import polars as pl
import pytest

from glassformer.data.column_kinds import kind_of
from glassformer.data.columns import Wanted, find_columns, same_column
from glassformer.errors import UsageError

ROWS = 60

VALUES: dict[str, Sequence[str | None]] = {
    "messages": [f"my order {n} did not arrive, and nobody answers the phone" for n in range(ROWS)],
    "subjects": [f"order {n}" for n in range(ROWS)],
    "long": [f"a much longer description of case {n}, " * 5 for n in range(ROWS)],
    "classes": [("billing", "shipping", "other")[n % 3] for n in range(ROWS)],
    "states": [("open", "closed")[n % 2] for n in range(ROWS)],
    "texts of their own": [f"category {n}" for n in range(ROWS)],
    "stars": [str(n % 5 + 1) for n in range(ROWS)],
    "whole floats": [f"{n % 2}.0" for n in range(ROWS)],
    "intents": [str(n % 40) for n in range(ROWS)],
    "points": [str(n % 40) for n in range(ROWS)],
    "floats": [f"{n / 7:.4f}" for n in range(ROWS)],
    "few floats": [("0.5", "1.5", "2.5")[n % 3] for n in range(ROWS)],
    "commas": [f"{n % 9},{n % 7}5" for n in range(ROWS)],
    "floats and n/a": ["n/a" if n == 7 else f"{n / 7:.4f}" for n in range(ROWS)],
    "days": [f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}" for n in range(ROWS)],
    "few days": [f"2024-01-0{n % 2 + 1}" for n in range(ROWS)],
    "moments": [f"{n % 28 + 1}.{n % 12 + 1}.2024 {n % 24}:{n % 60:02}" for n in range(ROWS)],
    "iso": [f"2024-01-{n % 28 + 1:02}T10:{n % 60:02}:00Z" for n in range(ROWS)],
    "tweet days": [f"Mon Apr {n % 28 + 1:02} 22:19:{n % 60:02} PDT 2009" for n in range(ROWS)],
    "ids": [f"TCK-{n:05}" for n in range(ROWS)],
    "numbers": [str(1000 + n) for n in range(ROWS)],
    "hashes": [f"{n * 2654435761:032x}" for n in range(ROWS)],
    "links": [f"https://example.com/a/very/long/path/to/some/thing/or/other/{n}" for n in range(ROWS)],
    "addresses": [f"a.person.{n}@example.com" for n in range(ROWS)],
    "nothing": [None] * ROWS,
    "blank": [" "] * ROWS,
}


def sample_of(header: str) -> pl.DataFrame:
    """`name: values, name: values` as a table of strings."""
    columns = dict(column.split(": ") for column in header.split(", "))
    return pl.DataFrame({name: pl.Series(VALUES[values], dtype=pl.String) for name, values in columns.items()})


_MEANT = "Ihre Meinung zu unserem Service", "Stimmung"


@pytest.mark.parametrize(
    ("header", "text", "label"),
    [
        ("score: floats, Message: messages, Intent: classes", "Message", "Intent"),
        ("score: few floats, Message: messages, Intent: classes", "Message", "Intent"),
        ("score: commas, Message: messages, Intent: classes", "Message", "Intent"),
        ("score: floats and n/a, Message: messages, Intent: classes", "Message", "Intent"),
        ("score: stars, Message: messages, Intent: classes", "Message", "Intent"),
        ("score: points, Message: messages, kind: classes", "Message", "kind"),
        ("score: stars, Message: messages", "Message", "score"),
        ("rating: stars, review: messages, date: days", "review", "rating"),
        (
            "Kunden_Kommentar: messages, intern: long, Kunden_Kategorie: classes, Status: states",
            "Kunden_Kommentar",
            "Kunden_Kategorie",
        ),
        (
            "customer feedback (EN): messages, history: long, finalLabel: classes, s: states",
            "customer feedback (EN)",
            "finalLabel",
        ),
        ("ProductReviews: messages, log: long, star rating: stars, s: states", "ProductReviews", "star rating"),
        (
            "Kundenrückmeldung: messages, log: long, Produktkategorie: classes, s: states",
            "Kundenrückmeldung",
            "Produktkategorie",
        ),
        ("客户评论: messages, 备注: long, 客户类别: classes, s: states", "客户评论", "客户类别"),
        ("review date: days, review id: ids, words: messages, label count: floats, s: states", "words", "s"),
        ("label: floats, Message: messages, kind: classes", "Message", "kind"),
        ("label: intents, text: messages", "text", "label"),
        ("label: whole floats, text: messages", "text", "label"),
        ("target: ids, text: messages, class: classes", "text", "class"),
        ("tags: texts of their own, text: messages, kind: states", "text", "kind"),
        ("when: few days, what: classes, said: messages", "said", "what"),
        ("created: moments, team: classes, said: messages", "said", "team"),
        ("created_at: iso, team: classes, said: messages", "said", "team"),
        ("date: tweet days, who: ids, said: messages, team: classes", "said", "team"),
        ("customer_id: states, said: messages, team: classes", "said", "team"),
        ("ticketId: states, said: messages, team: classes", "said", "team"),
        ("ID: numbers, said: messages, team: classes", "said", "team"),
        (": numbers, said: messages, team: classes", "said", "team"),
        ("Unnamed 0: numbers, said: messages, team: classes", "said", "team"),
        ("content: links, said: messages, topic: classes", "said", "topic"),
        ("message: hashes, said: messages, topic: classes", "said", "topic"),
        ("post: ids, body: messages, topic: classes", "body", "topic"),
        ("question: numbers, answer: messages, topic: classes", "answer", "topic"),
        ("comment: blank, said: messages, topic: classes", "said", "topic"),
        ("link: links, mail: addresses, said: messages, topic: classes", "said", "topic"),
        ("text: ids, label: classes", "text", "label"),
        ("Review Text: messages, Topic: classes", "Review Text", "Topic"),
        ("title: subjects, description: long, category: classes", "description", "category"),
        ("Kommentar: messages, Kategorie: classes, status: states", "Kommentar", "Kategorie"),
        ("Commentaire: messages, Étiquette: classes, status: states", "Commentaire", "Étiquette"),
        ("Reseña: messages, Categoría: classes, status: states", "Reseña", "Categoría"),
        ("Avaliação: messages, Rótulo: classes, status: states", "Avaliação", "Rótulo"),
        ("nhận xét: messages, nhãn: classes, status: states", "nhận xét", "nhãn"),
        ("评论: messages, 类别: classes, status: states", "评论", "类别"),
        ("Text: messages, Bewertung: stars, status: states", "Text", "Bewertung"),
        ("Text: messages, Kategorie: intents, status: states", "Text", "Kategorie"),
        ("Commentaire: ids, said: messages, Étiquette: classes", "said", "Étiquette"),
        ("text: messages, shop: states, type: classes, 类型: classes, 主题: classes", "text", "主题"),
        ("text: messages, shop: states, Estrellas: stars", "text", "Estrellas"),
        ("Ihre Meinung zu unserem Service: messages, shop: states, Stimmung: classes", *_MEANT),
        ("How was your stay?: messages, shop: states, Kategorie: classes", "How was your stay?", "Kategorie"),
        ("What should we do better for you: messages, topic: classes", "What should we do better for you", "topic"),
        (
            "What should we do better for you: messages, 1: classes, score: stars",
            "What should we do better for you",
            "score",
        ),
    ],
)
def test_realistic_headers(header: str, text: str, label: str) -> None:
    found = find_columns(sample_of(header), "t.csv", text=None, label=None, group=None, labelled=True)
    assert (found.text, found.label) == (text, label)


@pytest.mark.parametrize(
    "name",
    [
        *("Clasificación", "Sentimiento", "Tema", "Sentimento", "Classificação", "Thème", "Stimmung", "Rubrik"),
        *("分类", "主题", "情绪", "类型", "Chủ đề", "Danh mục", "Phân loại", "Thể loại", "Cảm xúc", "Einstufung"),
    ],
)
def test_a_label_is_known_by_its_name_beside_another_category(name: str) -> None:
    found = find_columns(sample_of(f"text: messages, Filiale: states, {name}: classes"), "t.csv", labelled=True)
    assert found.notes[1] == f"label column: {name!r} (by its name)"


def test_of_several_columns_that_are_named_as_labels_the_others_are_said() -> None:
    table = sample_of(
        "text: messages, Thema: states, Stimmung: classes, 主题: classes, topic: floats, tags: texts of their own"
    )
    named = "label column: 'Stimmung' (by its name); named as a label too: 'Thema'; to learn another: `label='Thema'`"
    assert find_columns(table, "t.csv", labelled=True).notes[1] == named


@pytest.mark.parametrize(
    ("names", "header"),
    [
        (["the parcel came late and broke", "billing"], False),  # a class that recurs
        (["the parcel came late and broke", "topic"], True),  # a known name
        (["the parcel came late and broke", "kind"], False),  # perhaps a class that is rare
        (["the parcel came late and broke", "2024-01-31", "kind"], False),
        (["the parcel came late and broke", "day", "kind"], True),
        (["Where is the parcel?", "nothing"], True),
        (["快递太慢了东西还坏了怎么办", "billing"], False),
        (["the parcel came late and broke", "n/a", "neither"], False),
    ],
)
def test_the_first_row_is_a_header_if_it_differs_from_the_rows_below(names: list[str], header: bool) -> None:
    columns = (
        [VALUES["messages"], VALUES["days"], VALUES["classes"]]
        if len(names) > 2
        else [VALUES["messages"], VALUES["classes"]]
    )
    sample = pl.DataFrame([pl.Series(name, values) for name, values in zip(names, columns, strict=True)])
    if header:
        label = "kind" if len(names) > 2 else None
        assert find_columns(sample, "t.csv", labelled=True, label=label).text == names[0]
        return
    with pytest.raises(UsageError, match="the first row looks like data"):
        find_columns(sample, "t.csv", labelled=True)


def test_a_number_may_name_labels_beside_a_known_name() -> None:
    labels = ["0", "1"] * (ROWS // 2)
    named = pl.DataFrame({"text": VALUES["messages"][: len(labels)], "2024": labels})
    assert find_columns(named, "t.csv", labelled=True).label == "2024"
    with pytest.raises(UsageError, match="the first row looks like data: '2024'"):
        find_columns(named.rename({"text": "a film"}), "t.csv", labelled=True)


def test_a_question_among_questions_is_data() -> None:
    questions = [f"Where is parcel {n} from last week?" for n in range(ROWS)]
    with pytest.raises(UsageError, match="the first row looks like data: 'Where is my parcel\\?'"):
        find_columns(pl.DataFrame({"Where is my parcel?": questions}), "t.csv", labelled=False)
    answers = pl.DataFrame({"How was your stay?": VALUES["messages"]})
    assert find_columns(answers, "t.csv", labelled=False).text == "How was your stay?"


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("Message: messages, score: floats", ("no column looks like labels", "'score'", "decimal numbers")),
        ("Message: messages, created: few days", ("no column looks like labels", "'created'", "dates")),
        ("Message: messages, label: texts of their own", ("no column looks like labels", "'category 0'", "60 values")),
        ("Message: messages, age: points, id: numbers", ("no column looks like labels", "40 different whole numbers")),
        (
            "Message: messages, score: floats, status: states, team: classes",
            ("not clear which column holds the label", "`label=`", "'status': 'open', 'closed' (2 values)", "'team'"),
        ),
        ("url: links, label: classes", ("not clear which column holds the text", "'url'", "links")),
        ("id: ids, label: classes", ("not clear which column holds the text", "`text=`", "ids")),
        ("a: long, b: long, id: ids, label: classes", ("not clear which column holds the text", "'a'", "'b'")),
    ],
)
def test_what_cannot_be_guessed_is_asked_for_with_the_candidates(header: str, words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError) as caught:
        find_columns(sample_of(header), "t.csv", text=None, label=None, group=None, labelled=True)
    for word in words:
        assert word in str(caught.value)


def test_the_only_column_of_numbers_is_learned_and_of_several_one_is_asked_for() -> None:
    """Without a task, a table whose other columns are numbers is told how to learn one."""
    asked: Wanted = {"text": None, "label": None, "number": True}
    one = find_columns(sample_of("Message: messages, rent: floats, id: numbers"), "t.csv", labelled=True, **asked)
    assert (one.label, one.notes[1]) == ("rent", f"number column: 'rent' ({len(set(VALUES['floats']))} values)")
    assert (
        find_columns(sample_of("Message: messages, label: classes, age: points"), "t.csv", labelled=True, **asked).label
        == "age"
    )
    with pytest.raises(
        UsageError, match=r"which column holds the number. Name it with `target=`. It may be:"
    ) as caught:
        find_columns(sample_of("Message: messages, a: floats, b: points"), "t.csv", labelled=True, **asked)
    assert [line.split(":")[0].strip() for line in caught.value.listing] == ["'a'", "'b'"]
    with pytest.raises(UsageError, match=r"no column holds numbers. Name the column with `target=`. The table has:"):
        find_columns(sample_of("Message: messages, team: classes, s: states"), "t.csv", labelled=True, **asked)
    prices = ["on request" if row % 5 == 0 else str(row) for row in range(len(VALUES["messages"]))]
    mixed = sample_of("Message: messages, team: classes").with_columns(
        price=pl.Series(prices), id=pl.Series(range(len(prices)))
    )
    with pytest.raises(UsageError, match=r"no column holds numbers \(in 'price', some cells are not numbers: name it"):
        find_columns(mixed, "t.csv", labelled=True, **asked)
    with pytest.raises(UsageError, match=r"To learn a number, name its column with `target=`: 'a', 'b'\. The table"):
        find_columns(
            sample_of("Message: messages, a: floats, b: points"), "t.csv", labelled=True, text=None, number=False
        )


@pytest.mark.parametrize("empty", [None, "", " "])
def test_a_cell_without_a_label_is_no_value_of_the_column(empty: str | None) -> None:
    few = sample_of("Message: messages, team: classes").with_columns(
        pl.when(pl.int_range(pl.len()) % 2 == 0).then("team").otherwise(pl.lit(empty, pl.String)).alias("team")
    )
    found = find_columns(few, "t.csv", text=None, label=None, labelled=True)
    assert found.notes[1] == f"label column: 'team' ({few['team'][::2].n_unique()} values)"


def test_inputs_are_no_candidates() -> None:
    sample = sample_of("text: messages, status: states, label: classes")
    with pytest.raises(UsageError, match="'text' looks like the text, but `columns=` names it as an input"):
        find_columns(sample, "t.csv", text=None, label=None, group=None, labelled=True, beside=("text", "status"))
    sample = sample_of("Message: messages, status: states, team: classes, score: floats")
    with pytest.raises(UsageError, match="The table has, beside the inputs in `columns=`") as caught:
        find_columns(sample, "t.csv", text=None, label=None, group=None, labelled=True, beside=("status", "team"))
    assert [line.split(":")[0].strip() for line in caught.value.listing] == ["'Message'", "'score'"]


@pytest.mark.parametrize("empty", ["nothing", "blank"])
def test_a_column_of_labels_that_is_to_be_filled_in_is_not_replaced_by_another(empty: str) -> None:
    sample = sample_of(f"text: messages, Kategorie: {empty}, Bezirk: classes")
    with pytest.raises(
        UsageError, match=r"'Kategorie' is named as a label, and is empty in the first 60 rows\. .*`label="
    ):
        find_columns(sample, "a", labelled=True)
    assert find_columns(sample, "a", labelled=True, label="Bezirk").label == "Bezirk"
    assert find_columns(sample, "a", labelled=False).label is None
    assert find_columns(sample.with_columns(topic="Bezirk"), "a", labelled=True).label == "topic"


def test_blank_cells_are_no_values() -> None:
    states = ["open", "closed", "", " "] * 15
    sample = pl.DataFrame({"said": VALUES["messages"], "state": states, "team": VALUES["classes"]})
    with pytest.raises(UsageError, match=r"'state': '(open|closed)', '(open|closed)' \(2 values\)"):
        find_columns(sample, "t.csv", text=None, label=None, group=None, labelled=True)


def test_only_candidates_are_listed() -> None:
    sample = sample_of("Message: messages, score: floats, status: states, team: classes")
    with pytest.raises(UsageError) as caught:
        find_columns(sample, "t.csv", text=None, label=None, group=None, labelled=True)
    assert "score" not in str(caught.value)


def test_what_is_asked_for_is_taken_as_it_is() -> None:
    sample = sample_of("score: floats, url: links, label: classes")
    found = find_columns(sample, "t.csv", text="url", label="score", group=None, labelled=True)
    assert (found.text, found.label, found.notes) == ("url", "score", ())


def test_several_labels_in_a_cell_are_judged_one_by_one() -> None:
    genres = ["drama", "comedy", "war", "crime", "music", "sport", "news", "horror"]
    cells = [f"{genres[n % 8]}|{genres[n // 8]}" for n in range(ROWS)]
    sample = pl.DataFrame({"genre": cells, "text": VALUES["messages"], "day": VALUES["days"]})
    found = find_columns(sample, "t.csv", text=None, label="genre", group=None, labelled=True, multilabel="|")
    assert found.label == "genre"
    named = sample.rename({"genre": "tags"})
    assert find_columns(
        named, "t.csv", text=None, label=None, group=None, labelled=True, multilabel="|"
    ).label == "tags"  # fmt: skip


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["2024-01-03", "2024-01-04 10:00"], "dates"),
        (["3 January 2024", "14 Feb 2023"], "dates"),
        (["Jan 3, 2024", "Feb 14, 2023 at 3:00 pm"], "dates"),
        (["1-Mar-24", "14-Sept-2023", "Dec-24"], "dates"),
        (["1. Januar 2024", "3 mars 2024"], "dates"),
        (["Market 1", "Market 2"], "words"),
        (["decent 5", "Octopus 4", "novice 1", "junior 2024", "maybe 3"], "words"),
        (["20240103", "20231224"], "dates"),
        (["10:30", "9:05 pm"], "dates"),
        (["2024-Q1", "2024-Q2"], "dates"),
        (["2024-01-03 the server stopped", "2024-01-04 it runs again"], "words"),
        (["May", "June"], "words"),
        (["2.5", "1e-3", "50 %"], "decimal numbers"),
        (["1,234.50", "12,000.00"], "decimal numbers"),
        (["1", "2.0", "-3"], "whole numbers"),
        (["ann@example.com", "bob.b@example.org"], "e-mail addresses"),
        (["www.example.com", "https://a@example.org/x.y"], "links"),
        (["a1", "b2", "c3"], "ids"),
        (["0b5c-44e1", "9f2c-11aa"], "ids"),
        (["好评", "差评"], "words"),
        (["", " ", None], "empty"),
        (["true", "false"], "words"),
    ],
)
def test_kinds(values: list[str | None], kind: str) -> None:
    assert kind_of(pl.Series("x", values, pl.String)) == kind


def test_names_that_begin_as_a_month_are_labels() -> None:
    rows = [(f"the parcel of order {row} came late", f"Market {row % 4}") for row in range(40)]
    sample = pl.DataFrame(rows, ["message", "category"], orient="row")
    assert find_columns(sample, "t.csv", labelled=True).label == "category"


def test_kinds_of_typed_columns() -> None:
    assert kind_of(pl.Series([0.5, float("nan")])) == "decimal numbers"
    assert kind_of(pl.Series([1.0, None])) == "whole numbers"
    assert kind_of(pl.Series([True, False])) == "words"
    assert kind_of(pl.Series([0]).cast(pl.Date)) == "dates"
    assert kind_of(pl.Series([["a"]])) == "lists or records"


def test_a_column_is_the_same_but_for_case_and_spaces() -> None:
    assert same_column("Ticket Text", ["ticket_text", "Ticket Text"]) == "Ticket Text"
    assert same_column("Ticket Text", ["id", "ticket_text"]) == "ticket_text"
    assert same_column("Ticket Text", ["TICKET TEXT", "ticket_text"]) is None
    assert same_column("Ticket Text", ["body"]) is None
    assert same_column(None, ["body"]) is None


def test_a_long_list_of_columns_is_cut() -> None:
    sample = pl.DataFrame({f"column {n}": ["0.5", "1.5"] for n in range(40)})
    with pytest.raises(UsageError, match="and 28 more columns") as caught:
        find_columns(sample, "t.csv", text=None, label=None, group=None, labelled=True)
    assert len(str(caught.value)) < 1_500


def test_columns_to_use_instead_of_decimal_numbers() -> None:
    sample = sample_of("Message: messages, score: floats, status: states, id: ids, team: classes")
    found = find_columns(sample, "t.csv", text=None, label="score", group=None, labelled=True)
    assert found.like_labels == ("status", "team")
    assert find_columns(sample, "t.csv", text=None, label="team", group=None, labelled=True).like_labels == ()


def test_a_column_with_few_values_is_no_text_by_its_name() -> None:
    sample = sample_of("Message: messages, team: classes").with_columns(title=pl.lit("Label the text"))
    assert find_columns(sample, "t.csv", labelled=True).text == "Message"


def test_marks_for_each_label_are_no_labels() -> None:
    sample = sample_of("Message: messages").with_columns(
        food=pl.int_range(pl.len()) % 2, staff=pl.int_range(pl.len()) // 2 % 2
    )
    with pytest.raises(UsageError, match="If each column says whether one label applies, make one column"):
        find_columns(sample, "t.csv", labelled=True)


@pytest.mark.parametrize(("answers", "said"), [(["accept", "reject", "ignore"], True), (["accept"] * 3, False)])
def test_rows_that_were_rejected_are_said(answers: list[str], said: bool) -> None:
    sample = pl.DataFrame({"text": ["a b", "c d", "e f"], "label": ["x", "y", "x"], "answer": answers})
    notes = find_columns(sample, "t.csv", labelled=True, label="label").notes
    assert ("the column 'answer' holds 'reject' or 'ignore' in 2 of the first 3 rows" in " ".join(notes)) == said
