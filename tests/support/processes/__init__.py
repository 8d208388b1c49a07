"""Processes that tests start, disturb and end."""
