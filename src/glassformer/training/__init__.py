"""From a table to a trained model: recipe, objectives, optimizers, the loop, checkpoints."""
