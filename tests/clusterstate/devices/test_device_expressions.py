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
        ("1 + 2 * 3 == 7 && 7 / 2 == 3 && -7 / 2 == -3 && -7 % 3 == -1 && 0x10 == 16", True),
        ("1.5 + 0.5 == 2.0 && 1 < 1.5 && 2 == 2.0 && 1e3 > 999", True),
        ('"a" + "b" == "ab" && [1] + [2] == [1, 2]', True),
        (f'{HERE}.cores > 5 ? {HERE}.mig : "x" == "y"', True),
        ("false ? true : true ? false : true", False),
        ("[1, 2].all(x, x > 0) && [1, 2].exists(x, x == 2) && ![1, 2].exists_one(x, x > 0)", True),
        ("[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6]", True),
        ("[1, 2].all(x, [3, 4].exists(y, y == x + 2))", True),
        (f"{HERE}.exists(name, name.startsWith('mo')) && device.attributes.all(d, d.contains('.com'))", True),
        (f"cel.bind(a, {HERE}, a.mig && a.cores == 7)", True),
        ('{"a": 1}.a == 1 && has({"a": 1}.a) && size({"a": 1}) == 1', True),
        (f'size("abc") == 3 && "abc".size() == 3 && size({HERE}) == 4 && [7][0] == 7', True),
        ('"a100".matches("^a[0-9]+$") && matches("b", "b")', True),
        ('"aB".lowerAscii() == "ab" && "aB".upperAscii() == "AB" && " a ".trim() == "a"', True),
        ('"abc".substring(1) == "bc" && "abc".substring(0, 2) == "ab" && "abc".charAt(1) == "b"', True),
        ('"a-b".split("-") == ["a", "b"] && ["a", "b"].join("-") == "a-b" && "aa".replace("a", "b") == "bb"', True),
        ('"abca".indexOf("a") == 0 && "abca".lastIndexOf("a") == 3 && [5, 6].indexOf(6) == 1', True),
        ('int("7") == 7 && string(7) == "7" && string(true) == "true" && double("1.5") == 1.5 && int(1.9) == 1', True),
        ('quantity("1500m").isInteger() || quantity("2").asInteger() == 2 && quantity("-1").sign() == -1', True),
        ('quantity("1").add(quantity("500m")).sub(1) == quantity("500m") && isQuantity("1Gi")', True),
        ('quantity("1500m").asApproximateFloat() == 1.5 && !isQuantity("x") && isSemver("1.2.3")', True),
        (f"{HERE}.firmware.major() == 1 && {HERE}.firmware.minor() == 10 && {HERE}.firmware.patch() == 0", True),
        ("dyn(1) == 1 && true == true", True),
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
        ("1 / 0 == 1", "division by zero"),
        ("1 % 0 == 1", "modulus by zero"),
        ("9223372036854775807 + 1 > 0", "integer overflow"),
        ('1 + "a" == 1', "no such overload"),
        ("[1, 2].all(x, x / 0 == 1)", "division by zero"),
        ("[1][1] == 1", "index out of bounds: 1"),
        ('"abc".substring(4) == ""', "index out of range: 4"),
        ('int("x") == 1', "type conversion error from 'string' to 'int'"),
        ('quantity("1500m").asInteger() == 1', "cannot convert value to integer"),
        ('[1].join("-") == "1"', "no such overload"),
        ("1 ? true : false", "no such overload"),
        (f"has({HERE}.model.none)", "no such overload"),
        ('"a".matches("(") ', "error parsing regexp"),
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
        "true ? true",
        "[1].all(x)",
        "has(true)",
        "cel.none(a, true, a)",
        "[1].all(x, true) && x == 1",
        'device.driver.matches("(a+)+b")',
        'device.driver.matches("(?=a)")',
        "99999999999999999999 > 1",
        "true true",
        "unknown",
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
