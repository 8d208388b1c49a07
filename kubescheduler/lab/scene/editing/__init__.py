"""Edits of a scene: each makes another state, or is refused and changes nothing."""
