"""Clusters in which things go wrong: what goes wrong, who schedules meanwhile, and what has to hold of it."""
