"""Model folders, and the answers of the models in them."""
