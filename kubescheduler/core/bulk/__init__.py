"""Runs of pods that no rule can tell apart, placed in one go."""
