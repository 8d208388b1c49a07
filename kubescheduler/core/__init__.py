"""The generic scheduler: filter, score, select, and the Decision they end in."""
