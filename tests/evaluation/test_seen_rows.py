from glassformer.evaluation.seen_rows import seen_rows
from glassformer.prediction.model_folder import CLASSIFIER, load_model
from tests.trained import Trained


def test_a_table_whose_server_is_gone_cannot_be_read(reviews: Trained) -> None:
    config = load_model(reviews.folder, CLASSIFIER).config
    elsewhere = {"read_as": config.data["read_as"] | {"train": "http://127.0.0.1:1/reviews.csv"}}
    config = config.model_copy(update={"data": config.data | elsewhere})
    found = seen_rows(config, None)
    assert found == "The training rows are at http://127.0.0.1:1/reviews.csv, which is read only if you name it"
    found = seen_rows(config, None, fetch=True)
    assert isinstance(found, str)
    assert found.startswith("The training rows cannot be read: http://127.0.0.1:1/reviews.csv could not be downloaded")
