"""Questions about nodes: what becomes of pods that have to leave theirs, and which nodes to add."""
