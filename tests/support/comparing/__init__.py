"""Comparisons and sweeps of small clusters."""
