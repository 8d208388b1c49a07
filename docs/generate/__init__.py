"""Project tooling: writes the parts of the documentation that come from the program, and runs its examples."""

from importlib.util import find_spec

if find_spec("msgspec") is None:
    raise SystemExit("docs.generate: kubescheduler is not installed for this Python; pip install -e '.[dev]' first")
