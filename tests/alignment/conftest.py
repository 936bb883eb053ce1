"""Every call in these tests checks the shapes that the signatures of their own functions promise, too."""

from tests.shapes import check_shapes

check_shapes(["tests.alignment.optimum"])
