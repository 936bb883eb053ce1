"""Models made of bricks. Start at classifier.py: construction reads like the diagram."""
