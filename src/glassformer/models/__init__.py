"""The models, built from the layers of `glassformer.layers`. Start reading at `classifier.py`."""
