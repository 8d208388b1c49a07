"""Amounts and versions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterstate.quantity import parse_quantity
from kubecel.functions.kubernetes_types import of_thousandths, quantity, semver
from tests.support.references.cel import evaluate, fault_of

WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
AMOUNTS = st.builds(
    lambda digits, suffix: f"{digits}{suffix}",
    st.integers(-(10**6), 10**6),
    st.sampled_from(["", "m", "k", "Ki", "M", "Mi", "G", "Gi", "e3"]),
)


@given(AMOUNTS)
def test_amounts_are_those_of_manifests(text: str) -> None:
    """A quantity in an expression is what the same text is in a manifest."""
    assert quantity(text) == of_thousandths(parse_quantity(text))


@given(AMOUNTS, AMOUNTS)
def test_sums_and_order_are_those_of_manifests(one: str, other: str) -> None:
    """Adding, subtracting and comparing agree with amounts in thousandths."""
    left, right = parse_quantity(one), parse_quantity(other)
    assert quantity(one).plus(quantity(other)) == of_thousandths(left + right)
    assert quantity(one).minus(quantity(other)) == of_thousandths(left - right)
    order = evaluate(f"quantity('{one}').compareTo(quantity('{other}'))")
    assert order == (left > right) - (left < right)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("quantity('50k').asInteger()", 50000),
        ("quantity('9999999999999999999999G').isInteger()", False),
        ("quantity('1000m').isInteger()", False),
        ("quantity('1.5Gi').isInteger()", False),
        ("quantity('5').add(20).sub(quantity('5')).asInteger()", 20),
        ("quantity('50k').add(quantity('500m')).isInteger()", False),
        ("quantity('50.703k').asApproximateFloat()", 50703.0),
        ("quantity('-5').sign() + quantity('0').sign()", -1),
        ("quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('1n').isLessThan(quantity('2n'))", True),
        ("quantity('200M') == quantity('0.2G') && quantity('1Ki') != quantity('1k')", True),
        ("isQuantity('1.3Gi') && isQuantity('1e3') && isQuantity('.5') && !isQuantity('1,5') && !isQuantity('')", True),
        ("semver('1.2.3').major() * 100 + semver('1.2.3').minor() * 10 + semver('1.2.3').patch()", 123),
        ("semver('v01.1', true) == semver('1.1.0') && isSemver('v1', true) && !isSemver('v1')", True),
        ("semver('1.0.0-rc.1').isLessThan(semver('1.0.0')) && semver('1.0.0+a') == semver('1.0.0+b')", True),
        ("semver('1.10.0').compareTo(semver('1.9.0'))", 1),
        ("type(quantity('1')) == type(quantity('2')) && type(semver('1.0.0')) != type(1)", True),
    ],
)
def test_amounts_and_versions(source: str, expected: object) -> None:
    """Methods give what Kubernetes' libraries give."""
    assert evaluate(source) == expected


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("quantity('10Mo')", WRONG),
        ("quantity('')", WRONG),
        ("quantity('10Mm')", "unable to parse quantity's suffix"),
        ("quantity('.')", "unable to parse numeric part of quantity"),
        ("quantity('1.5').asInteger()", "cannot convert value to integer"),
        ("quantity('1') == dyn('1')", "no such overload"),
        ("semver('')", "Version string empty"),
        ("semver('v1.0')", "No Major.Minor.Patch elements found"),
        ("semver('a.0.0')", 'Invalid character(s) found in major number "a"'),
        ("semver('1.01.0')", 'Minor number must not contain leading zeroes "01"'),
        ("semver('1.0.')", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("semver('1.0.0-')", "Prerelease is empty"),
        ("semver('1.0.0-01')", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("semver('1.0.0-a_b')", 'Invalid character(s) found in prerelease "a_b"'),
        ("semver('1.0.0+')", "Build meta data is empty"),
        ("semver('1.0-a', true)", "short version cannot contain PreRelease/Build meta data"),
        ("dyn('x').compareTo(semver('1.0.0'))", "no such overload: compareTo(string, kubernetes.Semver)"),
    ],
)
def test_what_is_no_amount_or_version(source: str, fault: str) -> None:
    """Faults say what Kubernetes' libraries say."""
    assert fault_of(source) == fault


def test_order_of_versions() -> None:
    """Prereleases come before their release, numbers before words."""
    ordered = ["1.0.0-1", "1.0.0-2", "1.0.0-10", "1.0.0-alpha", "1.0.0-alpha.1", "1.0.0", "1.0.1", "1.10.0", "2.0.0"]
    shuffled = ordered[1::2] + ordered[::2]
    assert sorted(shuffled, key=lambda text: semver(text).ranks()) == ordered
