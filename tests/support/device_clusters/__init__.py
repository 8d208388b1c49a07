"""Clusters with devices, and claims for them."""
