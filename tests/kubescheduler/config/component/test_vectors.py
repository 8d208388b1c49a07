from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clusterstate.errors import ConfigError
from kubescheduler.config.component import component_config_from
from kubescheduler.framework.contract.profile import Point
from tests.support.configuring.component_build import document, format_of
from tests.support.references.recorded_vectors import vectors_dir

READ_ERRORS = ("extenders", "profiles", "[extenders", "[profiles", "couldn't build")
"""How errors begin that are told when a configuration is read."""

FILES = [path for release in ("1.20", "1.36") for path in sorted((vectors_dir() / release).glob("*.jsonl.gz"))]


def queries(path: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """(component configuration, result)."""
    with gzip.open(path, "rt") as lines:
        for line in map(json.loads, lines):
            results = {result["query"]: result for result in line["results"]}
            for query in line["scenario"]["queries"]:
                if "componentConfig" in query:
                    yield query["componentConfig"], results[query["id"]]


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}-{path.name.partition('.')[0]}" for path in FILES])
def test_recorded_configurations(path: Path) -> None:
    """Recorded configurations are read, or refused with the recorded text."""
    release = path.parent.name
    for found, result in queries(path):
        expected = result["error"]
        if expected is not None and expected.startswith(READ_ERRORS):
            with pytest.raises(ConfigError) as caught:
                component_config_from(found, format_of(release), all_problems=False)
            assert str(caught.value) == expected
            continue
        config = component_config_from(found, format_of(release), all_problems=False)
        if expected is None:
            scores = {plugin.name for plugin in config.profiles[0].plugins.get(Point.SCORE, ())}
            assert result["weights"].keys() <= scores


NAME_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


def test_added_affinity() -> None:
    """1.36 tells where in an added affinity the fault is."""
    expressions = [{"key": "disk", "operator": "Exists"}, {"key": "gen", "operator": "Gt", "values": ["-1"]}]
    required = {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
    args = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    config = [{"name": "VolumeBinding", "args": {}}, {"name": "NodeAffinity", "args": args}]
    with pytest.raises(ConfigError) as caught:
        component_config_from(
            document("1.36", profiles=[{"pluginConfig": config}]), format_of("1.36"), all_problems=False
        )
    assert str(caught.value) == (
        "profiles[0].pluginConfig[1].args.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution."
        f'nodeSelectorTerms[0].matchExpressions[1].values[0][gen]: Invalid value: "-1": {NAME_RULE}'
    )
