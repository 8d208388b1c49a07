"""``python -m kubescheduler``, and the console script."""

from __future__ import annotations

import gc
import os
import sys

INTERRUPTED = 130

MADE_BEFORE_COLLECTION = 100_000
"""Objects that a process makes, and does not give up, before the youngest are looked through for cycles: modules and
what is read of a cluster stay, and next to nothing of what else is made is in cycles."""


def kubectl_why() -> None:
    """The console script ``kubectl-why``, which makes ``kubectl why POD`` work."""
    sys.argv.insert(1, "why")
    main()


def kubectl_complete_why() -> None:
    """The console script ``kubectl_complete-why``, which kubectl asks when a shell completes ``kubectl why``."""
    from kubescheduler.cli.completion import kubectl_completions

    sys.stdout.write(kubectl_completions("why", sys.argv[1:]))


def main() -> None:
    """Runs the command line. An interrupt ends it with status 130, also while modules are still being imported."""
    gc.set_threshold(MADE_BEFORE_COLLECTION)
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # numpy would start threads for products of floats: there are none
    try:
        from kubescheduler.cli import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(INTERRUPTED)
    finally:
        gc.freeze()  # the interpreter would look for cycles among all there is, module by module, before it ends


def _leave_the_folder() -> None:
    """Takes the current folder off the module path, where ``python -m`` puts it first.

    A file beside the cluster may be called yaml.py. Where the package itself lies in the folder, it goes to the end.
    """
    if sys.flags.safe_path or not sys.path or os.path.realpath(sys.path[0] or ".") != os.path.realpath("."):
        return
    folder = sys.path.pop(0)
    if os.path.dirname(os.path.dirname(os.path.realpath(__file__))) == os.path.realpath("."):
        sys.path.append(folder)


if __name__ == "__main__":
    _leave_the_folder()
    main()
