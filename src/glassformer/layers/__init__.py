"""The bricks. This room imports torch and nothing of ours; every brick takes plain arguments."""
