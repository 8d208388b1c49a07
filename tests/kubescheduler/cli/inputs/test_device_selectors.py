"""Devices selected by CEL, through ``kubescheduler schedule``."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kubescheduler.cli.conftest import Run

CARD = 'device.attributes["gpu.example.com"]'
OTHER = 'running "DynamicResources" filter plugin: claim default/c: selector #0: CEL '


def _node(name: str) -> dict[str, object]:
    return {"kind": "Node", "metadata": {"name": name}, "status": {"allocatable": {"cpu": "4", "pods": "10"}}}


def _slice(node: str, gib: int, **attributes: dict[str, object]) -> dict[str, object]:
    device = {"name": "card", "attributes": attributes, "capacity": {"memory": {"value": f"{gib}Gi"}}}
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": node, "pool": pool, "devices": [device]}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec}


def _cluster(expression: str) -> str:
    """Two nodes with a card each, and a pod whose claim asks for one by an expression."""
    request = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": expression}}]}
    items: list[dict[str, object]] = [
        _node("attic"),
        _node("barn"),
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": "gpu"},
            "spec": {"selectors": [{"cel": {"expression": 'device.driver == "gpu.example.com"'}}]},
        },
        _slice("attic", 40, model={"string": "a100-40"}, address={"string": "10.0.0.1"}),
        _slice("barn", 80, model={"string": "h100-80"}, address={"string": "10.9.0.1"}, firmware={"version": "1.2.3"}),
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": "c", "namespace": "default"},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": request}]}},
        },
        {
            "kind": "Pod",
            "metadata": {"name": "p", "namespace": "default"},
            "spec": {"containers": [{"name": "c"}], "resourceClaims": [{"name": "g", "resourceClaimName": "c"}]},
        },
    ]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


@pytest.mark.parametrize(
    ("expression", "host"),
    [
        (f'{CARD}.?firmware.optMap(v, v.isGreaterThan(semver("1.2.0"))).orValue(false)', "barn"),
        (f'cidr("10.0.0.0/16").containsIP({CARD}.address)', "attic"),
        (f'{CARD}.model.find("[0-9]+$") == "80"', "barn"),
        (f'{CARD}.model.split("-").exists(part, part == "a100")', "attic"),
        (f"cel.bind(card, {CARD}, has(card.model) && !has(card.firmware))", "attic"),
        ('device.capacity["gpu.example.com"].transformList(k, v, v.asInteger()).max() > 50000000000', "barn"),
        (f'"%s".format([dyn({CARD}.model)]).startsWith("h")', "barn"),
    ],
)
def test_where_a_selector_leads(kubescheduler: Run, folder: Path, expression: str, host: str) -> None:
    """Every library of CEL can select devices."""
    (folder / "cards.json").write_text(_cluster(expression))
    outcome = kubescheduler("schedule", "cards.json", "--pending", "--release", "1.36", "-o", "name")
    assert outcome.out == f"default/p {host}\n"


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (f'{CARD}.firmware == semver("1.0.0")', "runtime error: no such key: firmware"),
        (f'{CARD}.model.matches("(" + "")', "runtime error: error parsing regexp: missing closing ): `(`"),
        ("1", "compile error: must evaluate to bool or the unknown type, not int"),
        (
            "lists.range(900).all(x, lists.range(900).all(y, x >= 0))",
            "runtime error: operation cancelled: actual cost limit exceeded",
        ),
        (
            "device.driver == 1",
            "compile error: compilation failed: ERROR: <input>:1:15: found no matching overload for '_==_' applied to "
            "'(string, int)'\n | device.driver == 1\n | ..............^",
        ),
    ],
)
def test_a_selector_that_fails(kubescheduler: Run, folder: Path, expression: str, text: str) -> None:
    """An error of an expression is an error of the pod, in kube-scheduler's words."""
    (folder / "cards.json").write_text(_cluster(expression))
    outcome = kubescheduler("schedule", "cards.json", "--pending", "--release", "1.36", "-o", "json")
    assert outcome.status == 2
    assert OTHER + text in json.dumps(json.loads(outcome.out), ensure_ascii=False).replace("\\n", "\n").replace(
        '\\"', '"'
    )


def test_cel_is_imported_at_the_first_expression() -> None:
    """A release with device claims does not load CEL before one is asked about."""
    code = "import sys, predicates.dynamic_resources; sys.exit(any('cel.functions' in name for name in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True)
