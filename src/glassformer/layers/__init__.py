"""The bricks that models are built from. They import torch, nothing of glassformer, and take plain arguments."""
