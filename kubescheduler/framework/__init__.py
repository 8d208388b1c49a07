"""The scheduling framework of releases 1.20 and 1.36: plugins at extension points, run by profiles."""
