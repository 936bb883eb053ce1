"""Targets with labels: classes, ordered classes, and several labels per text."""
