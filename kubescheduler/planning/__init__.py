"""Questions about nodes: what becomes of pods that have to leave theirs, which nodes to add, and which can go."""
