"""Models made of bricks. Start at classifier.py, which reads like its diagram."""
