"""The counting reader: a linear model of n-grams, which reads a text beside the transformer."""
