"""``python -m kubescheduler``, and the console script."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Runs the command line. An interrupt ends it with status 130, also while modules are still being imported."""
    try:
        from kubescheduler.cli import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)


def _leave_the_folder() -> None:
    """Takes the current folder off the module path, where ``python -m`` puts it first.

    A file beside the cluster may be called yaml.py. Where the package itself lies in the folder, it goes to the end.
    """
    import os

    if sys.flags.safe_path or not sys.path or os.path.realpath(sys.path[0] or ".") != os.path.realpath("."):
        return
    folder = sys.path.pop(0)
    if os.path.dirname(os.path.dirname(os.path.realpath(__file__))) == os.path.realpath("."):
        sys.path.append(folder)


if __name__ == "__main__":
    _leave_the_folder()
    main()
