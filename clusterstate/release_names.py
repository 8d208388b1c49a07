"""The names of the releases there are, oldest first; what a release is stands in ``kubescheduler.engine.releases``."""

RELEASE_NAMES = ("1.4", "1.16", "1.20", "1.36")
"""Of every release, in the order they came out."""

DEFAULT_RELEASE = "1.16"
"""The release that decides when nobody names one: the last one with predicates and priorities only."""
