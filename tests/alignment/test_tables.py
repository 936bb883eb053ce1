from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.alignment.pairs import Pair, Preference, read_pairs, read_preferences, read_prompts
from glassformer.alignment.tables import cut, from_table, question, write_records
from glassformer.data import polarity
from glassformer.data.table import Table
from glassformer.errors import UsageError
from tests.training.samples import table

TWO_WORDS = partial(cut, words=2)
WHOLE = partial(cut, words=0)


@given(st.text(alphabet=st.sampled_from("ab \t\n\u3000é\x1f"), max_size=20) | st.text(max_size=12), st.integers(0, 4))
def test_a_text_is_its_prompt_and_its_completion(text: str, words: int) -> None:
    pair = cut(text, words=words)
    if len(text.split()) <= words:
        assert pair is None
        return
    assert pair is not None
    assert pair.prompt + pair.completion == text.strip()
    assert pair.prompt.split() == text.split()[:words]
    assert pair.prompt == pair.prompt.strip()
    assert pair.completion.strip()
    assert pair.completion[0].isspace() == (words > 0)


def test_a_cut_by_hand() -> None:
    assert cut("  a bc\tbc  bc ", words=2) == Pair(prompt="a bc", completion="\tbc  bc")
    assert cut("ab b", words=1) == Pair(prompt="ab", completion=" b")
    assert cut(" a b ", words=0) == Pair(prompt="", completion="a b")


def opinions() -> Table:
    texts = [f"{begin} {end}" for begin in ("it is", "they are") for end in ("1", "2", "3", "4", "5", "6", "7")]
    labels = ["good", "bad", "good", "fine", "bad", "good", "good"] * 2
    return table(texts, labels)


def test_of_texts_that_begin_alike_the_chosen_label_is_preferred() -> None:
    found = from_table(opinions(), TWO_WORDS, chosen="good", rejected="bad", seed=0)
    assert [pair.prompt + pair.completion for pair in found.pairs] == opinions().frame["text"].to_list()
    assert [preference.prompt for preference in found.preferences] == ["it is"] * 2 + ["they are"] * 2
    for preference in found.preferences:
        assert preference.chosen in (" 1", " 3", " 6", " 7")
        assert preference.rejected in (" 2", " 5")
    assert (found.too_short, found.without_partner) == (0, 4), "of each beginning four are good and two are bad"


def test_each_text_comes_once() -> None:
    found = from_table(opinions(), WHOLE, chosen="good", rejected=None, seed=3)
    assert len(found.preferences) == 6
    seen = Counter(text for preference in found.preferences for text in (preference.chosen, preference.rejected))
    assert set(seen.values()) == {1}
    assert found.without_partner == 14 - 12
    assert {preference.prompt for preference in found.preferences} == {""}


def test_which_texts_are_compared_is_a_function_of_the_seed() -> None:
    def preferences(seed: int) -> list[Preference]:
        return from_table(opinions(), WHOLE, chosen="good", rejected=None, seed=seed).preferences

    assert preferences(1) == preferences(1) != preferences(2)


def test_texts_too_short_and_texts_of_both_sides() -> None:
    both = table(["it is so", "it is so", "it is", "it"], ["good", "bad", "good", "bad"])
    found = from_table(both, TWO_WORDS, chosen="good", rejected="bad", seed=0)
    assert (len(found.pairs), found.too_short, found.preferences, found.without_partner) == (2, 2, [], 2)


def test_labels_that_there_are_not() -> None:
    for chosen, rejected, words in (
        ("best", None, "`chosen='best'`: reviews.csv has no such label; it has bad, fine, good"),
        ("good", "worst", "`rejected='worst'`: reviews.csv has no such label; it has bad, fine, good"),
        ("good", "good", "`chosen=` and `rejected=` are both good"),
    ):
        with pytest.raises(UsageError, match=words):
            from_table(opinions(), TWO_WORDS, chosen=chosen, rejected=rejected, seed=0)
    with pytest.raises(UsageError, match="every text has the label good; preferences need texts of another label"):
        from_table(table(["a b c", "a b d"], ["good", "good"]), TWO_WORDS, chosen="good", rejected=None, seed=0)


def test_an_embedded_opinion_answers_a_question() -> None:
    subject = next(iter(polarity.SUBJECTS))
    assert question(f"the {subject} is dull") == Pair(
        prompt=f"how is the {subject}?", completion=f" the {subject} is dull"
    )


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    pairs = [Pair(prompt="", completion='"é"\n\u2028'), Pair(prompt="a", completion=" b")]
    preferences = [Preference(prompt="a", chosen="\u3000good", rejected="\\")]
    write_records(tmp_path / "new" / "pairs.jsonl", pairs)
    write_records(tmp_path / "new" / "preferences.jsonl", preferences)
    assert read_pairs(tmp_path / "new" / "pairs.jsonl") == pairs
    assert read_preferences(tmp_path / "new" / "preferences.jsonl") == preferences
    assert read_prompts(tmp_path / "new" / "pairs.jsonl") == ["", "a"]
    assert "é" in (tmp_path / "new" / "pairs.jsonl").read_text(encoding="utf-8")
