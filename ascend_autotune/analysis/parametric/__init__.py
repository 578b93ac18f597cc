"""Judging a whole space of tiles from a few traces."""
