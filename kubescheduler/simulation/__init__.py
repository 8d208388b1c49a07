"""The same engine over a sequence of pods, a trace, or a question of capacity."""
