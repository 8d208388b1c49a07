"""Deciding beside the cluster's real scheduler, without a write."""
