"""Volumes: what the claims of a pod lead to, what may be bound, and what nodes can attach."""
