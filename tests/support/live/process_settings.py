"""What command lines and files of the live process come to, or what is said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from clusterstate.errors import ConfigError
from kubescheduler.live.flags.flags import parse_flags
from kubescheduler.live.process.live_settings import LiveSettings
from kubescheduler.live.process.process_options import CommandLine, settings_of
from kubescheduler.releases.lookup import live_release, recorded_processes

SECOND = 1_000_000_000
GROUP = "kubescheduler.config.k8s.io"
VERSIONS = {"1.16": f"{GROUP}/v1alpha1", "1.20": f"{GROUP}/v1beta1", "1.36": f"{GROUP}/v1"}
EVERY = pytest.mark.parametrize("release", list(recorded_processes()))


def settled(release: str, *words: str, notes: list[str] | None = None) -> LiveSettings | None:
    """What they come to; None where the process is to end."""
    live = live_release(release)
    heard = [] if notes is None else notes
    return settings_of(CommandLine(live, parse_flags(live.flags, words)), heard.append, heard.append)


def settings(release: str, *words: str, notes: list[str] | None = None) -> LiveSettings:
    """What they come to, where the process goes on."""
    found = settled(release, *words, notes=notes)
    assert found is not None
    return found


def fault(release: str, *words: str) -> str:
    """What is said of them as they are refused."""
    with pytest.raises(ConfigError) as caught:
        settled(release, *words)
    return ", ".join(caught.value.problems)


def a_file(folder: Path, release: str, **content: Any) -> str:
    """The flag that names a new configuration file of some content."""
    path = folder / f"config-{len(list(folder.iterdir()))}.yaml"
    document = {"apiVersion": VERSIONS[release], "kind": "KubeSchedulerConfiguration", **content}
    path.write_text(yaml.safe_dump(document))
    return f"--config={path}"
