import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from glassformer.prediction.answering_config import Readers
from glassformer.readers.body.reader import BodyReader
from glassformer.readers.counting.unlike import Seen, UnlikeConfig, ngram_hashes
from glassformer.serving.limits import Limits
from tests.browser.chromium import CHROMIUM, check_it_can_be_read
from tests.browser.serving import complaints, running, served_page
from tests.explanation.test_explain import two_readers
from tests.prediction.keeping import keeping
from tests.serving.samples import TEXT, served

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")

WORDS = ".words [role=button]"
CARD = "# A text classifier\n\nAnswers.\n\n- It has `two` readers.\n\n    glassformer predict\n"


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("reviews")
    (folder / "README.md").write_text(CARD, encoding="utf-8")
    with running(served(folder=folder), limits=Limits(explained_characters=300, characters=1000)) as found:
        yield found


def typed(page: Page, text: str = TEXT) -> None:
    """Type a text, and wait for its reasons."""
    page.locator("#text").fill(text)
    expect(page.locator(WORDS).first).to_be_visible()
    expect(page.locator(".words")).to_have_text(text, use_inner_text=False)


def shown(page: Page) -> dict[str, Any]:
    """The label in large type with its probability, and the bar of each label."""
    label, _, confidence = page.locator(".label").inner_text().rpartition(" ")
    values = zip(
        page.locator(".answer .name").all_inner_texts(),
        page.locator(".answer .value").all_inner_texts(),
        strict=True,
    )
    return {"label": label, "confidence": confidence, "bars": dict(values)}


def test_labels_that_are_truth_values_are_named_as_in_answers(browser: Browser) -> None:
    with served_page(browser, served(trained=two_readers(labels=(False, True, "none")))) as page:
        assert page.locator(".answer .name").all_inner_texts() == ["False", "True", "none"]
        typed(page)
        found = shown(page)
        assert found["bars"][found["label"]] == found["confidence"]
        assert page.locator(".answer .chosen .name").inner_text() == found["label"]


def test_the_answer_follows_what_is_typed(page: Page) -> None:
    expect(page).to_have_title("reviews · glassformer")
    assert page.locator(".answer .name").all_inner_texts() == ["bad", "fine", "good"]
    typed(page)
    first = shown(page)
    assert first["bars"][first["label"]] == first["confidence"]
    assert sum(float(value[:-1]) for value in first["bars"].values()) == pytest.approx(100, abs=0.2)
    page.locator("#text").press_sequentially(" not at all")
    expect(page.locator(".confidence")).not_to_have_text(first["confidence"])
    expect(page.locator(WORDS)).to_have_count(12)
    assert page.locator(".readers .value").count() == 2
    assert "by deletion of words" in page.locator(".trust").inner_text()
    expect(page.locator("#spoken")).to_have_text(f"reviews: {shown(page)['label']}, {shown(page)['confidence']}.")
    page.locator("#text").fill("")
    expect(page.locator(".label")).to_have_count(0)
    expect(page.locator(".why")).to_be_hidden()


def test_a_text_unlike_the_training_data_is_said_to_be_so(browser: Browser) -> None:
    seen = Seen(hashes=np.unique(ngram_hashes(TEXT)), config=UnlikeConfig(threshold=0.5, held_out_rows=3))
    with served_page(browser, served(trained=replace(two_readers(), seen=seen))) as page:
        typed(page, "zwei drei vier fünf")
        expect(page.locator(".answer .note")).to_contain_text("unlike the training data")
        typed(page)
        expect(page.locator(".answer")).not_to_contain_text("unlike the training data")


def test_only_the_newest_answer_is_shown(page: Page) -> None:
    page.locator("#text").press_sequentially("the plot is thin but i loved it and would not see it again", delay=5)
    expect(page.locator(WORDS)).to_have_count(14)
    expect(page.locator(".words")).to_have_text("the plot is thin but i loved it and would not see it again")


def test_a_word_can_be_dropped_and_put_back_with_the_keyboard(page: Page) -> None:
    typed(page)
    before = shown(page)
    page.locator("#text").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    expect(page.locator(WORDS).nth(7)).to_be_focused()
    page.keyboard.press("Delete")
    expect(page.locator(WORDS).nth(7)).to_have_class(re.compile("dropped"))
    expect(page.locator(".verdict-of-change")).to_have_text(f"As written: {before['label']}, {before['confidence']}")
    assert list(shown(page)["bars"]) == list(before["bars"]), "no bar jumps"
    assert shown(page)["bars"] != before["bars"]
    assert page.locator(".was").count() == 3
    why = page.locator(".why h3")
    expect(why).to_have_text(f"Why {before['label']}, for the text as written?")
    assert "dropped" in str(page.locator(WORDS).nth(7).get_attribute("aria-label"))
    page.keyboard.press("Delete")
    expect(page.locator(".verdict-of-change")).to_have_count(0)
    expect(why).to_have_text("Why?")
    assert shown(page) == before


def test_a_word_can_be_swapped_and_kept(page: Page) -> None:
    typed(page)
    before = shown(page)
    page.locator(WORDS, has_text="loved").click()
    dialog = page.get_by_role("dialog", name="The word loved")
    expect(dialog.get_by_role("textbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.locator(WORDS, has_text="loved")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("see")
    page.keyboard.press("Enter")
    expect(page.locator(".swapped b")).to_have_text("see")
    expect(page.locator(".verdict-of-change")).to_be_visible()
    changed = shown(page)
    assert changed["bars"] != before["bars"]
    page.get_by_role("button", name="Keep").click()
    expect(page.locator("#text")).to_have_value(TEXT.replace("loved", "see"))
    expect(page.locator(".verdict-of-change")).to_have_count(0)
    expect(page.locator(".words")).to_have_text(TEXT.replace("loved", "see"))
    assert shown(page)["confidence"] == changed["confidence"]


def test_dropping_every_word_leaves_no_answer(page: Page) -> None:
    typed(page, "thin plot")
    for word in page.locator(WORDS).all():
        word.focus()
        page.keyboard.press("Backspace")
    expect(page.locator(".verdict-of-change")).to_have_text("No words are left.")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".label")).to_be_visible()


def test_a_long_text_is_answered_but_not_explained_and_an_over_long_one_is_refused(page: Page) -> None:
    page.locator("#text").fill("the plot " * 50)
    expect(page.locator(".trust")).to_contain_text("450 characters, more than the 300")
    expect(page.locator(".note")).to_contain_text("overlapping windows of 24")
    expect(page.locator("#changes")).to_have_text("")
    expect(page.locator(".panel.trace")).to_have_text("The text is too long to show every number of its answer.")
    page.locator("#text").fill("the plot " * 500)
    expect(page.locator(".refusal")).to_contain_text("The text has 4,500 characters, more than the 1,000 that are read")
    expect(page.locator(".trust")).to_contain_text("more than the 300")
    expect(page.locator(".refusal")).to_be_visible()
    expect(page.locator(".label")).to_have_count(0)
    typed(page, "the plot " * 12)  # 24 tokens and a start, one more than a window
    expect(page.locator(".refusal")).to_be_hidden()
    expect(page.locator("#changes")).to_have_text("Click a word below to drop or swap it.")
    expect(page.locator(".panel.trace")).to_have_text("The text is too long to show every number of its answer.")
    typed(page, "the plot " * 11 + "the")
    expect(page.get_by_role("button", name="Every number of this answer")).to_be_visible()


def test_a_model_whose_transformer_is_not_asked_shows_the_others(browser: Browser) -> None:
    counting = two_readers(transformer=0.0)
    body = BodyReader(
        body="english", words=("plot", "bad"), weights=np.ones(2, np.float32), pieces=(),
        values=np.array([[0.5, 0, -0.5], [2, 0, -2]], np.float32), piece_values=np.zeros((0, 3), np.float32),
        head=np.eye(3, dtype=np.float32)[None], bias=np.zeros(3, np.float32),
    )  # fmt: skip
    weights = Readers.weighing({"counting": 0.4, "body": 0.8, "transformer": 0.0})
    config = counting.config.model_copy(update={"readers": weights})
    trained = replace(counting, config=config, readers={**counting.readers, "body": body})
    with served_page(browser, served(trained=trained)) as page:
        typed(page)
        expect(page.locator(".readers .name")).to_have_text(["counting", "body"])
        expect(page.locator(".readers h3")).to_have_text("Two readers")
        silent = "Its transformer is not asked: no held-out rows showed that it helps."
        expect(page.locator(".readers p").last).to_have_text(silent)
        assert "speak" in page.locator(".readers p").first.inner_text()


def test_right_to_left(page: Page) -> None:
    typed(page, "الفيلم جميل جدا")
    words = page.locator(WORDS)
    left = [float(words.nth(number).bounding_box()["x"]) for number in range(3)]  # type: ignore[index]
    assert left == sorted(left, reverse=True)
    words.nth(0).focus()
    page.keyboard.press("ArrowLeft")
    expect(words.nth(1)).to_be_focused()


def test_emoji_and_html_stay_what_they_are(page: Page) -> None:
    text = "🙂 the plot 👩‍👩‍👧 <b onclick=alert(1)>loved</b> 𝒳 it"
    typed(page, text)
    word = page.locator(WORDS, has_text="loved")
    assert word.inner_text() == "loved"
    word.focus()
    page.keyboard.press("Delete")
    page.get_by_role("button", name="Keep").click()
    expect(page.locator("#text")).to_have_value(text.replace("loved", ""))


def test_a_dead_server_is_said_and_the_page_goes_on_when_it_is_back(browser: Browser) -> None:
    page = browser.new_page()
    with running(served()) as url:
        page.goto(url)
        typed(page)
    page.locator("#text").press_sequentially(" again")
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    assert page.locator("#text").input_value() == f"{TEXT} again"
    with running(served(), port=urlsplit(url).port or 0):
        expect(page.get_by_role("alert")).to_be_hidden()
        expect(page.locator(".words")).to_have_text(f"{TEXT} again")
    page.close()


def test_every_number_opens_in_a_tab_of_its_own(page: Page) -> None:
    typed(page, "the plot\nis thin")
    page.locator(WORDS).nth(3).focus()
    page.keyboard.press("Delete")
    expect(page.locator(".verdict-of-change")).to_be_visible()
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Every number of this answer").click()
    trace = opened.value
    expect(trace.locator("h1")).to_have_text("Every number of an answer")
    expect(trace.locator("header")).to_contain_text("the plot is")
    expect(trace.locator(".stage table").first).to_be_visible()
    trace.close()


def test_the_card_is_set_in_type(page: Page) -> None:
    page.get_by_text("Model card").click()
    card = page.locator(".card")
    assert card.locator("h4").inner_text() == "A text classifier"
    assert card.locator("li code").inner_text() == "two"
    assert card.locator("pre").inner_text() == "glassformer predict"


KEPT = ("the plot <b>is</b> thin", "الفيلم جميل", f"🙂 i loved it {'and would see it again ' * 12}", TEXT, "not at all")


def test_the_nearest_training_texts_are_below(browser: Browser, page: Page) -> None:
    typed(page)
    expect(page.locator(".shares summary")).to_be_visible()
    expect(page.get_by_text("Nearest training texts")).to_have_count(0)  # this model keeps none
    with served_page(browser, served(trained=keeping(two_readers(), texts=KEPT, labels=(0, 1, 2, 2, 0)))) as keeps:
        typed(keeps)
        keeps.get_by_text("Nearest training texts").click()
        panel = keeps.locator(".nearest")
        expect(panel).to_contain_text("This text is a training text: row 13, label good.")
        texts = panel.locator("li")
        expect(texts).to_have_count(4)
        expect(panel.locator("li b")).to_have_count(4)  # the labels: no text is read as HTML
        assert "the plot <b>is</b> thin" in panel.inner_text()
        long = texts.filter(has_text="🙂")
        assert KEPT[2] not in long.inner_text()
        ends = long.locator(".text").first.inner_text().split()
        assert set(ends) <= {"🙂", "i", "loved", "it", "and", "would", "see", "again", "…"}  # cut between words
        long.locator("summary").click()
        assert KEPT[2].strip() in long.inner_text()
        typed(keeps, "not at all again")
        expect(panel).not_to_contain_text("This text is a training text")
        expect(texts).to_have_count(5)
        keeps.locator("details").evaluate_all("all => all.forEach(details => details.open = true)")
        check_it_can_be_read(keeps, (".near-texts .soft", ".near-texts b", ".near-texts .text"))


def test_it_can_be_read_and_fits(page: Page) -> None:
    typed(page)
    page.locator(WORDS).nth(1).focus()
    page.keyboard.press("Delete")
    expect(page.locator(".verdict-of-change")).to_be_visible()
    page.locator("details").evaluate_all("all => all.forEach(details => details.open = true)")
    for width in (1200, 390):
        page.set_viewport_size({"width": width, "height": 844})
        page.locator(WORDS).nth(8).click()
        box = page.get_by_role("dialog").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        page.keyboard.press("Escape")
    page.locator(WORDS).nth(8).click()
    check_it_can_be_read(
        page, (".label", ".confidence", ".soft", ".legend", ".trust", "th", "label", ".brand", "footer")
    )


def test_the_page_works_with_a_key_that_the_browser_asks_for(browser: Browser) -> None:
    with running(served(), api_key="open-sesame") as url:
        context = browser.new_context(http_credentials={"username": "", "password": "open-sesame"})
        page = context.new_page()
        said = complaints(page)
        page.goto(url)
        typed(page)
        with context.expect_page() as trace:
            page.get_by_role("button", name=re.compile("number")).click()
        expect(trace.value).to_have_title(re.compile("trace|number", re.IGNORECASE))
        assert said == []
        context.close()


def test_nothing_is_styled_or_run_inline() -> None:
    source = Path(__file__).parent.parent.parent / "src/glassformer"
    folder = source / "serving/page"
    html = (folder / "index.html").read_text(encoding="utf-8")
    assert "<style" not in html
    assert " style=" not in html
    assert html.count("<script") == html.count('<script type="module" src="page/')
    for file in (*folder.iterdir(), *(source / "pages").glob("*.js")):
        text = file.read_text(encoding="utf-8")
        assert "innerHTML" not in text, file
        assert "https://" not in text, file


def test_an_answer_that_costs_chose_says_so(page: Page) -> None:
    drawn = """async ([prediction, costs]) => (await import("/page/answer.js")).drawAnswer({ model: { costs },
      answer: { prediction, confidence: .4, probabilities: { a: .6, b: .4, c: 0 } } }).textContent"""
    cheaper = "a is more probable, but this answer should cost less."
    assert page.evaluate(drawn, ["b", [{}]]).endswith(f"c< 0.1%{cheaper}")
    assert cheaper not in page.evaluate(drawn, ["a", [{}]])
    assert cheaper not in page.evaluate(drawn, ["b", None])
    assert "What mistakes cost decides, not 50%." in page.evaluate(drawn, [["a", "b"], [{}]])
    assert "decides" not in page.evaluate(drawn, [["a"], [{}]])
