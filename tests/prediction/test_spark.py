"""A Spark job answers each row once, also if it loses a worker."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import glassformer
from tests.cli.terminal import glassformer as run
from tests.trained import Trained, review_rows

sql = pytest.importorskip("pyspark.sql", reason="pip install pyspark to answer its frames")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed here"),
]
ROWS = 200


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    session = (
        sql.SparkSession.builder.master("local[2,4]")  # two workers; a task is tried four times
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    yield session
    session.stop()


def test_each_row_is_answered_once_though_a_worker_is_lost(spark: Any, reviews: Trained, tmp_path: Path) -> None:
    texts = [text for text, _ in review_rows(ROWS)]
    frame = spark.createDataFrame(list(enumerate(texts)), ["id", "text"]).repartition(4)
    score, lost = glassformer.score(reviews.folder), str(tmp_path / "lost")

    def answered(frames: Iterable[Any]) -> Iterator[Any]:
        for found in score(frames):
            yield found
            if not os.path.exists(lost):  # noqa: PTH110 (sent to a worker)
                open(lost, "w").close()  # noqa: PTH123
                os._exit(9)  # after a part of its answers

    frame.mapInPandas(answered, score.schema(frame)).write.parquet(str(tmp_path / "answers"))
    assert Path(lost).exists()
    rows = spark.read.parquet(str(tmp_path / "answers")).orderBy("id").collect()
    assert [row["id"] for row in rows] == [*range(ROWS)]
    expected = run("predict", reviews.folder, *texts, "--json").document["answers"]
    assert [(row["prediction"], row["confidence"]) for row in rows] == [
        (each["prediction"], each["confidence"]) for each in expected
    ]
