"""Small models with random weights, served."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from glassformer.data.inputs import Category, Inputs, Number
from glassformer.data.sources import Sources
from glassformer.models.classifier import Classifier
from glassformer.models.model_config import SeveralTextsConfig
from glassformer.prediction.answering_config import Readers
from glassformer.prediction.model_folder import CLASSIFIER, TrainedModel, load_model, save_model
from glassformer.prediction.predictor import Predictor
from glassformer.serving.served_model import ServedModel
from glassformer.targets.labels.target import labels_of
from glassformer.training.recipe import load_recipe
from glassformer.training.run import train_model
from tests.explanation.test_explain import two_readers
from tests.support import randomise, whole_cross_fitting
from tests.training.test_number import SETTINGS, scored

train_number = partial(train_model, family="number")

TEXT = "The plot is thin, but i loved it"
INPUTS = Inputs(
    texts=("review", "reply"),
    columns=(Category(name="shop", values=("Berlin", "New York")), Number(name="price", edges=(3.0, 5.5))),
)
ROW = {"review": "the plot is thin", "reply": "not again", "shop": "berlin", "price": 4}


def served(
    name: str = "reviews", trained: TrainedModel | None = None, folder: Path = Path("nowhere")
) -> dict[str, ServedModel]:
    """A model by its name, as the application takes it."""
    predictor = Predictor(trained or two_readers())
    return {name: ServedModel(name=name, folder=folder, predictor=predictor)}


def of_rows() -> TrainedModel:
    """A model of two texts and two columns, with two readers."""
    trained = two_readers()
    model = SeveralTextsConfig(**trained.config.model.model_dump(exclude={"design"}), texts=2)
    tokenizer = trained.tokenizer.with_marks(INPUTS.tokens)
    config = trained.config.model_copy(
        update={"model": model, "inputs": INPUTS, "vocab_size": tokenizer.vocab_size},
    )
    classifier = randomise(Classifier(model, tokenizer.vocab_size, len(labels_of(config.target).labels))).eval()
    return replace(trained, config=config, model=classifier, tokenizer=tokenizer)


def of_groups() -> TrainedModel:
    """A model that was trained with groups."""
    trained = two_readers()
    recipe = trained.config.recipe | {"validation": {"group": "customer"}}
    return replace(trained, config=trained.config.model_copy(update={"recipe": recipe}))


def of_numbers(folder: Path) -> dict[str, ServedModel]:
    """A trained model of a number, whose transformer is given a weight."""
    recipe = load_recipe(None, overrides=SETTINGS)
    with whole_cross_fitting():
        train_number(Sources(train=scored(40)), recipe, out=folder)
    trained = load_model(folder, CLASSIFIER)
    config = trained.config.model_copy(
        update={"readers": Readers.weighing(trained.config.weights | {"transformer": 0.5})}
    )
    save_model(folder, replace(trained, config=config), card="# A model of a number\n")
    return {"scores": ServedModel.load("scores", folder, device="cpu")}
