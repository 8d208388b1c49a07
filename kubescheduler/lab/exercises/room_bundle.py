"""A folder to carry into a room without network: wheels of the package and all it needs, and how to install them."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import unquote, urlsplit

from clusterstate.errors import ConfigError

README = "INSTALL.txt"
TEXT = """\
Install kubescheduler without network, on {platform} with Python {python}:

  python3 -m venv .venv
  . .venv/bin/activate
  pip install --no-index --find-links wheels 'kubescheduler[lab]'

Then: kubescheduler lab list
"""


def source_of_package() -> str:
    """What pip makes a wheel of: the folder that this was installed from where it is known, else the name."""
    root = Path(__file__).resolve().parents[3]
    if (root / "setup.cfg").is_file():
        return f"{root}[lab]"
    try:
        import json

        text = distribution("kubescheduler").read_text("direct_url.json")
    except PackageNotFoundError:
        text = None
    place = Path(unquote(urlsplit(json.loads(text)["url"]).path)) if text else None
    return f"{place}[lab]" if place is not None and place.exists() else "kubescheduler[lab]"


def write_bundle(folder: Path) -> list[str]:
    """Writes the wheels and the text. The names of the wheels, sorted. Raises ConfigError with what pip says."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"{folder}: it is not empty; name a folder that is not there yet")
    wheels = folder / "wheels"
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "-w", str(wheels)]
    done = subprocess.run([*command, source_of_package()], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise ConfigError(
            f"{folder}: pip could not make the wheels: {lines[-1].strip() if lines else 'it says nothing'}"
        )
    python = ".".join(map(str, sys.version_info[:2]))
    (folder / README).write_text(TEXT.format(platform=sys.platform, python=python), encoding="utf-8")
    return sorted(path.name for path in wheels.glob("*.whl"))
