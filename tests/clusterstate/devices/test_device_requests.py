"""CEL expressions about devices."""

from __future__ import annotations

import pytest

from clusterstate.devices.device_requests import compile_expression
from kubecel import CompileFault, CostFault, ValueFault
from tests.support.devices import DRIVER, gpu

DEVICE = gpu("d", {"model": "a100", "mig": True, "cores": 7, "other.com/rank": 1, "firmware": "v1.10.0"}, gib=40)
UNCONVERTED = "CEL result of type {} could not be converted to bool: "
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
        (f'{HERE}.cores > 5 ? {HERE}.mig : "x" == "y"', True),
        (f"{HERE}.exists(name, name.startsWith('mo')) && device.attributes.all(d, d.contains('.com'))", True),
        (f"cel.bind(a, {HERE}, a.mig && a.cores == 7)", True),
        (f'size("abc") == 3 && "abc".size() == 3 && size({HERE}) == 4 && [7][0] == 7', True),
        (f"{HERE}.firmware.major() == 1 && {HERE}.firmware.minor() == 10 && {HERE}.firmware.patch() == 0", True),
        (f'{HERE}.model.includes("a100") && !{HERE}.model.includes(7) && !{HERE}.firmware.includes("x")', True),
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
        (f"{HERE}.cores.startsWith('a')", "no such overload"),
        (f'{HERE}.model.isGreaterThan(quantity("1"))', "no such overload: isGreaterThan(string, kubernetes.Quantity)"),
        (f'{HERE}.firmware == "1.10.0"', "no such overload"),
        (f"{HERE}.cores / 0 == 1", "division by zero"),
        ("lists.range(49).includes(48)", "'includes' function cannot be applied to lists longer than 48 values"),
        (f'{HERE}.model.substring(5) == ""', "index out of range: 5"),
        (f"{HERE}.cores ? true : false", "no such overload"),
        (f"device.attributes[{HERE}.cores].x", "no such key: x"),
        (f"{HERE}[{HERE}.firmware]", "invalid qualifier type: cel.Semver"),
        (f'{HERE}.cores.matches("a")', "no such overload: matches"),
        (f'{HERE}.model.matches({HERE}.model + "(")', "error parsing regexp: missing closing ): `a100(`"),
    ],
    ids=lambda text: text.replace(HERE, "here"),
)
def test_what_fails_for_a_device(source: str, fault: str) -> None:
    """CEL's runtime errors stay errors, in its words."""
    with pytest.raises(ValueFault) as caught:
        compile_expression(source)(DRIVER, DEVICE)
    assert str(caught.value) == fault


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("1", "must evaluate to bool or the unknown type, not int"),
        ("dyn(true)", "must evaluate to bool or the unknown type, not dyn"),
        ("[1]", "must evaluate to bool or the unknown type, not list(int)"),
        ("device", "must evaluate to bool or the unknown type, not kubernetes.DRADevice"),
        ("device.name", "compilation failed: ERROR: <input>:1:7: undefined field 'name'\n | device.name\n | ......^"),
        (
            f"{HERE}.names.exists(x, x == 'a')",
            "expression of type 'any' cannot be range of a comprehension (must be list, map, or dynamic)",
        ),
        (f"{HERE}.names.all(x)", "undeclared reference to 'all' (in container '')"),
        ('int("x") == 1', "program instantiation failed: type conversion error from 'string' to 'int'"),
    ],
    ids=lambda text: text.replace(HERE, "here")[:40],
)
def test_what_is_no_selector(source: str, fault: str) -> None:
    """What does not compile says why as the scheduler of 1.36 does."""
    with pytest.raises(CompileFault) as caught:
        compile_expression(source)
    assert fault in str(caught.value)


@pytest.mark.parametrize(
    ("attribute", "fault"),
    [
        ("text", UNCONVERTED.format("string") + "unsupported native conversion from string to 'bool'"),
        ("number", UNCONVERTED.format("int") + "unsupported type conversion from 'int' to bool"),
        ("version", UNCONVERTED.format("kubernetes.Semver") + "type conversion error from 'Semver' to 'bool'"),
    ],
)
def test_an_attribute_that_is_no_condition(attribute: str, fault: str) -> None:
    """The type of an attribute shows when it is read: only truths select."""
    device = gpu("d", {"text": "x", "number": 1, "version": "v1.0.0"})
    with pytest.raises(ValueFault) as caught:
        compile_expression(f"{HERE}.{attribute}")(DRIVER, device)
    assert str(caught.value) == fault


def test_a_version_that_is_none_fails_every_expression() -> None:
    """All attributes are read before an expression is evaluated, as upstream does."""
    with pytest.raises(
        ValueFault, match=r"^attribute bad: parse semantic version: No Major\.Minor\.Patch elements found$"
    ):
        compile_expression("true")(DRIVER, gpu("d", {"bad": "v1"}))


def test_what_costs_too_much() -> None:
    """An evaluation is given up at a cost of a million; nothing absorbs that."""
    costly = "lists.range(12).all(x, lists.range(100000 + x).size() > 0) || true"
    with pytest.raises(CostFault, match=r"^operation cancelled: actual cost limit exceeded$"):
        compile_expression(costly)(DRIVER, DEVICE)
