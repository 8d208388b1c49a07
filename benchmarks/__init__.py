"""Decisions per second, per release, workload and number of nodes."""

from importlib.util import find_spec

if find_spec("msgspec") is None:
    raise SystemExit("benchmarks: kubescheduler is not installed for this Python; pip install -e '.[dev]' first")
