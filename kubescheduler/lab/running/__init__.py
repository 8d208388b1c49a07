"""Simulations that can be looked into: what every pod was waiting for, and the cluster before any attempt."""
