import itertools

import pytest

from glassformer.errors import UsageError
from glassformer.experiments.search.space import VALUES, candidates, read_space, value_in
from glassformer.training.recipe import load_recipe


def test_the_recipe_as_it_is_comes_first_and_no_combination_twice() -> None:
    recipe = load_recipe(None)
    drawn = list(itertools.islice(candidates(read_space((), recipe), recipe), 60))
    assert drawn[0].recipe == recipe
    assert drawn[0].name == "the recipe as it is"
    assert [each.number for each in drawn] == list(range(60))
    assert all(drawn[i].recipe != drawn[j].recipe for i in range(60) for j in range(i))
    again = list(itertools.islice(candidates(read_space((), recipe), recipe), 60))
    assert [each.settings for each in again] == [each.settings for each in drawn]
    for key, values in VALUES.items():
        assert {value_in(each.recipe, key) for each in drawn} == set(values), key


def test_a_small_space_is_searched_whole() -> None:
    recipe = load_recipe(None)
    space = read_space(("dropout=.1,0.3", "training.epochs=2,4"), recipe)
    assert space == {"model.dropout": [0.1, 0.3], "training.epochs": [2, 4]}
    found = {(each.recipe.model.dropout, each.recipe.training.epochs) for each in candidates(space, recipe)}  # type: ignore[union-attr]
    assert found == {(0.1, 2), (0.1, 4), (0.3, 2), (0.3, 4)}


def test_settings_that_make_one_model_are_tried_once() -> None:
    """Without counting, `auto` is no body."""
    recipe = load_recipe(None)
    drawn = list(candidates(read_space(("counting=none,auto", "body=none,auto"), recipe), recipe))
    assert len(drawn) == 3
    assert len({each.recipe.model.beside for each in drawn}) == 3


def test_a_name_says_which_setting_has_which_value() -> None:
    recipe = load_recipe(None)
    found = {each.name for each in candidates(read_space(("counting=tfidf,nb", "body=none,auto"), recipe), recipe)}
    assert "counting=nb · body=none" in found


def test_other_epochs_leave_the_limit_of_steps_as_it_is() -> None:
    recipe = load_recipe(None)
    for each in candidates(read_space(("training.epochs=2,8",), recipe), recipe):
        assert each.recipe.training.enough_steps == 1_000
        assert set(each.settings) <= {"training.epochs"}


def test_values_that_go_together_with_others_alone_are_searched_with_these() -> None:
    recipe = load_recipe(None)
    space = read_space(("d_model=96,128", "n_heads=4,3"), recipe)
    found = [each.settings for each in candidates(space, recipe)]
    assert {"model.d_model": 96, "model.n_heads": 3} in found
    assert {"model.n_heads": 3} not in found


@pytest.mark.parametrize(
    ("over", "words"),
    [
        ("dropot=0,.1", "unknown key model.dropot (did you mean model.dropout?)"),
        ("dropout=0,2", "`over='model.dropout=2'`: model.dropout = 2: it must be less than 1"),
        ("dropout=0.1", "a search needs at least two values"),
        ("dropout", "write key=value,value"),
        ("training.seed=0,1", "every trial is trained with several seeds"),
        ("validation.fraction=0.1,0.2", "every trial is measured on the same rows"),
        ("training.class_weights=none,balanced", "it changes the loss that the trials are rated by"),
        ("training.epochs=0,2", "`over='training.epochs=0'`: it trains no transformer"),
    ],
)
def test_what_cannot_be_searched_is_said(over: str, words: str) -> None:
    with pytest.raises(UsageError) as error:
        read_space((over,), load_recipe(None))
    assert words in error.value.message


def test_settings_that_a_design_does_not_have_are_not_searched() -> None:
    recipe = load_recipe("vinh-mlp")
    assert not any(key.startswith("model.") for key in read_space((), recipe))
