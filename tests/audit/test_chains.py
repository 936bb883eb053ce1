from glassformer.audit.files import chains
from glassformer.readers.counting.ngrams import runs_of, words_of


def spelled(*texts: str) -> set[str]:
    ngrams = dict.fromkeys(run for text in texts for run in runs_of(words_of(text)))
    return {spelling for both in chains(list(ngrams)) for spelling in both}


def test_an_address_is_put_together_again() -> None:
    found = spelled("write to maria.rossi@post.example.com today", "the film was good", "to maria we write")
    assert any("maria.rossi@post.example.com" in each for each in found)


def test_a_number_in_groups_is_put_together_again() -> None:
    assert any("+49 30 901820" in each for each in spelled("call +49 30 901820 now"))


def test_words_that_go_on_in_two_ways_end_a_chain() -> None:
    found = spelled("ask ann@a.example here", "ask bob@a.example there")
    assert any(each.endswith("ann@a.example") for each in found)
    assert not any("ann@a.example here" in each for each in found)


def test_a_repeated_group_comes_to_an_end() -> None:
    assert all(len(each) < 200 for each in spelled("1111 1111 1111 1111 1111"))


def test_other_words_give_no_chain() -> None:
    assert spelled("the film was good and the book was better") == set()
