"""Decisions per second, per release, workload and number of nodes."""
