"""Every call in these tests checks the shapes that the signatures of the pure functions promise."""

from tests.shapes import check_shapes

check_shapes(
    [
        *(f"glassformer.alignment.{name}" for name in ("advantages", "divergence", "losses")),
        "tests.alignment.optimum",
    ]
)
