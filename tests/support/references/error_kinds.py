"""Kinds of errors that keep a pod from being decided, each as the files that bring it about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from tests.support.custom.faulty_plugins import written

ADDRESS = "@ADDRESS@"
"""Where the address of a running extender comes in."""
CONFIGURATION = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": "Mine", "weight": 1}]}}}],
}


@attrs.frozen
class ErrorKind:
    """One kind of error."""

    text: str
    """What the message says of it."""
    policy: Mapping[str, Any] | None = None
    """What a Policy has; None: a plugin decides, with release 1.36."""
    plugin: str = ""
    """A method of the plugin."""
    files: Mapping[str, str] = attrs.field(factory=dict)
    """Files in place of those that are there; empty text: the file is not there."""
    in_attempt: bool = False
    """Whether it ends an attempt of a release as it would in a cluster; otherwise nothing is decided at all."""

    def write(self, folder: Path, address: str) -> None:
        """The files, in a folder that has cluster.yaml and pod.yaml already."""
        for name, text in self.files.items():
            (folder / name).write_text(text) if text else (folder / name).unlink()
        if self.policy is not None:
            document = {"kind": "Policy", "apiVersion": "v1", **self.policy}
            (folder / "policy.json").write_text(json.dumps(document).replace(ADDRESS, address))
        else:
            (folder / "config.json").write_text(json.dumps(CONFIGURATION))

    def module(self, folder: Path) -> str:
        """The module with the plugin Mine; empty for none."""
        imports = "from kubescheduler.core.status import Status\n\n\n"
        return written(folder, f'{imports}class Mine:\n    name = "Mine"\n\n    {self.plugin}\n') if self.plugin else ""

    @property
    def spec(self) -> str:
        """What decides, as ``--new`` takes it."""
        return "release=1.16,policy=policy.json" if self.policy is not None else "release=1.36,config=config.json"


def extenders(behaviour: str, address: str = ADDRESS) -> dict[str, Any]:
    """What a Policy has with an extender of that behaviour."""
    return {"extenders": [{"urlPrefix": f"{address}/{behaviour}", "filterVerb": "filter"}]}


KINDS = {
    "a dead extender": ErrorKind("Connection refused", extenders("x", "http://127.0.0.1:1"), in_attempt=True),
    "an extender with status 500": ErrorKind("code 500", extenders("500"), in_attempt=True),
    "an extender with broken JSON": ErrorKind(
        "cannot read the extender's answer", extenders("garbage"), in_attempt=True
    ),
    "an extender with an error": ErrorKind("95%", extenders("error"), in_attempt=True),
    "a Filter that raises": ErrorKind(
        "ZeroDivisionError: division by zero", plugin="def filter(self, state, pod, node_info): return 1 / 0"
    ),
    "a Score that raises": ErrorKind(
        "ZeroDivisionError: division by zero", plugin="def score(self, state, pod, node_info): return 1 / 0"
    ),
    "a plugin that answers something else": ErrorKind(
        "it answers None or a Status, not True", plugin="def filter(self, state, pod, node_info): return True"
    ),
    "a Filter that answers an error": ErrorKind(
        "no such disk",
        plugin="def filter(self, state, pod, node_info): return Status.failure('no such disk')",
        in_attempt=True,
    ),
    "a fault of the policy": ErrorKind("PodFitsHostPort", {"predicates": [{"name": "PodFitsHostPort"}]}),
    "a fault of the cluster": ErrorKind(
        "did you mean labels?", {}, files={"cluster.yaml": "kind: Node\nmetadata: {name: n1, label: {a: b}}\n"}
    ),
    "a cluster that is missing": ErrorKind("cluster.yaml", {}, files={"cluster.yaml": ""}),
}
