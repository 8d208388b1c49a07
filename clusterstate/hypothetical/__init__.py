"""Snapshots of nodes with pods hypothetically added or removed."""
