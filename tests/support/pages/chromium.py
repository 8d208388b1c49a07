"""The Chromium of this machine, for tests of pages and for the pictures of the documentation."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
"""It asks nobody for anything, and runs as root in a container too."""

MISSING = "there is no Chromium: apt install chromium, or python -m playwright install chromium"


def launched(playwright: Any) -> Any:
    """A browser, of the machine or the one that playwright brought; None if there is neither."""
    path = next(filter(None, map(shutil.which, NAMES)), None) or playwright.chromium.executable_path
    return playwright.chromium.launch(executable_path=path, args=ARGUMENTS) if Path(path).exists() else None
