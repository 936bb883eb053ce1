"""Every call in these tests checks the shapes that the signatures promise."""

from jaxtyping import install_import_hook

install_import_hook("glassformer.alignment", "beartype.beartype")
