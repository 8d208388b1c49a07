"""Engines made of a release's command line flags."""
