"""Every call in these tests checks the shapes that the signatures of the pure functions promise."""

from jaxtyping import install_import_hook

install_import_hook(
    [
        *(f"glassformer.alignment.{name}" for name in ("advantages", "divergence", "logprobs", "losses")),
        "tests.alignment.optimum",
    ],
    "beartype.beartype",
)
