"""Helpers of tests: builders, worlds, strategies, references and processes."""
