"""CEL expressions about devices."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.devices.device_expressions import compile_expression
from clusterstate.devices.device_values import NotEvaluatedError, ValueFault, version
from tests.support.devices import DRIVER, gpu

DEVICE = gpu(
    "d",
    {"model": "a100", "mig": True, "cores": 7, "other.com/rank": 1, "firmware": "v1.10.0"},
    gib=40,
)
HERE = f'device.attributes["{DRIVER}"]'


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f'device.driver == "{DRIVER}"', True),
        (f"device.driver == '{DRIVER}'", True),
        ('device.driver != "x"', True),
        (f'{HERE}.model == "a100"', True),
        (f'{HERE}["model"] == "b"', False),
        (f"{HERE}.mig", True),
        (f"!{HERE}.mig", False),
        (f"{HERE}.cores >= 7 && {HERE}.cores < 8", True),
        (f"{HERE}.cores == -7 || {HERE}.cores in [1, 7]", True),
        (f'"model" in {HERE}', True),
        (f'"none" in {HERE}', False),
        ('"rank" in device.attributes["other.com"]', True),
        ('"rank" in device.attributes["unknown.com"]', False),
        (f"has({HERE}.model) && !has({HERE}.none)", True),
        (f'{HERE}.model.startsWith("a") && {HERE}.model.endsWith("0")', True),
        (f'{HERE}.model.contains("10")', True),
        (f'device.capacity["{DRIVER}"].memory == quantity("40Gi")', True),
        (f'device.capacity["{DRIVER}"].memory.compareTo(quantity("39Gi")) > 0', True),
        (f'device.capacity["{DRIVER}"].memory.isLessThan(quantity("40Gi"))', False),
        (f'{HERE}.firmware.isGreaterThan(semver("1.9.0"))', True),
        (f'{HERE}.firmware == semver("1.10.0")', True),
        (f"({HERE}.mig)", True),
        ("device.allowMultipleAllocations", False),
        (f"{HERE}.cores == true", False),
        (f"{HERE}.none && false", False),
        (f"{HERE}.none || true", True),
        ("true || false && false", True),
        (r'"a\"b" == "a\"b"', True),
    ],
)
def test_what_an_expression_comes_to(source: str, expected: bool) -> None:
    """Plain expressions are evaluated as CEL does it."""
    assert compile_expression(source)(DRIVER, DEVICE) is expected


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (f"{HERE}.none", "no such key: none"),
        (f"{HERE}.none && true", "no such key: none"),
        (f'{HERE}.cores < "7"', "no such overload"),
        (f"!{HERE}.cores", "no such overload"),
        (f'{HERE}.model.startsWith(quantity("1"))', "no such overload"),
        ('quantity("x") == quantity("1")', "not a number"),
        ('semver("1.2") == semver("1.2.0")', "not a semantic version"),
    ],
)
def test_what_fails_for_a_device(source: str, fault: str) -> None:
    """CEL's runtime errors stay errors."""
    with pytest.raises(ValueFault, match=fault):
        compile_expression(source)(DRIVER, DEVICE)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "device",
        "device.name",
        "device.driver ==",
        "device.driver == 1.5",
        "1 + 1 == 2",
        "true ? true : false",
        "[1].all(x, x > 0)",
        'device.driver.matches("x")',
        "cel.bind(a, true, a)",
        "true true",
        "unknown",
        "size([1]) == 1",
        '"\\x41" == "A"',
        "(true",
        "(" * 1000,
        "!" * 1000 + "true",
        " && ".join(["true"] * 1000),
    ],
)
def test_what_is_not_evaluated(source: str) -> None:
    """Everything else is said to be beyond us, never guessed at."""
    with pytest.raises(NotEvaluatedError):
        compile_expression(source)(DRIVER, DEVICE)


@given(st.text(alphabet='device.attributes["x"]&|!()<>= 1,in', max_size=30))
def test_no_text_breaks_the_reader(source: str) -> None:
    """Whatever the text, it is evaluated or refused."""
    try:
        compile_expression(source)(DRIVER, DEVICE)
    except (NotEvaluatedError, ValueFault):
        return


def test_order_of_versions() -> None:
    """Prereleases come before their release, numbers before words."""
    ordered = ["1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0", "1.0.1", "1.10.0", "2.0.0"]
    shuffled = ordered[1::2] + ordered[::2]
    assert sorted(shuffled, key=version) == ordered
