"""Judging nodes with the pods that are nominated to them, and what is remembered of it."""
