"""``python -m kubescheduler``."""

from kubescheduler.cli import main

main()
