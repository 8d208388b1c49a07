"""Judging nodes beside the pods that are nominated to them, and what is remembered of it."""
