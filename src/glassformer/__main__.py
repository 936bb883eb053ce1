"""`python -m glassformer`."""

from glassformer.cli.main import main

main()
