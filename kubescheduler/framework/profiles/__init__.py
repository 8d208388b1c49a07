"""Profiles: which plugins there are, which run where, and one framework for each schedulerName."""
