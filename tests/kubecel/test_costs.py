"""What evaluations cost."""

from __future__ import annotations

import pytest

from kubecel import CostFault, NotEvaluatedError
from kubecel.program import compile_program
from tests.support.references.cel import FIELDS, SUBJECT, cost, evaluate


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1 + 2", 1),
        ("device.driver", 2),
        ("device.driver == 'gpu.example.com'", 4),
        ("device.driver.startsWith('gpu')", 4),
        ("device.driver + 'abcde'", 4),
        ("device.driver in ['a', 'b']", 2),
        ("device.driver in [device.driver]", 2 + 2 + 10 + 1),
        ("[1, 2, 3]", 0),
        ("[device.driver]", 12),
        ("{'a': device.driver}", 32),
        ("has(device.driver)", 1),
        ("device.?driver", 2),
        ("device.any == 7 ? device.any : 0", 2 + 1 + 1),
        ("[1, 2].all(x, x > 0)", 2 * (1 + 1 + 1 + 1 + 1) + 1),
        ("[1, 2].exists(x, x > 1)", 2 * (1 + 1 + 1 + 1 + 1 + 1) + 1),
        ("[1, 2].map(x, x)", 2 * (1 + 1 + 10 + 1) + 1),
        ("device.driver.matches('[a-z]+')", 2 + 2 * 2),
        ("device.driver.find('[a-z]+')", 2 + 2 * 2),
        ("device.driver.lowerAscii().split('.')", 2 + 2 + 3),
        ("quantity('10Gi').compareTo(quantity('1Gi'))", 3),
        ("quantity('10Gi') == quantity('1Gi')", 3),
        ("cidr('10.0.0.0/8').containsIP('10.1.2.3')", 2 + 1 + 1 - 1 + 0),
        ("lists.range(100).size()", 100 + 1 + 10 + 1),
        ("[3, 1, 2].sort()", 18 + 1 + 10),
        ("sets.contains([1, 2], [1])", 3),
        ("cel.bind(x, device.driver, x + x)", 2 + 1 + 1 + 3),
        ("format.dns1123Label().validate(device.driver)", 1 + 2 + 2 * 8),
        ("true || device.driver == 'a'", 0),
        ("optional.of(1).orValue(2)", 1),
    ],
)
def test_costs(source: str, expected: int) -> None:
    """Names, members, lists, maps and calls cost what they cost upstream; constants nothing."""
    assert cost(source) == expected


def test_the_limit() -> None:
    """An evaluation may cost its limit, and no more."""
    program = compile_program("[1, 2].all(x, x > 0)", "device", FIELDS)
    assert program.evaluate(SUBJECT, limit=11) is True
    with pytest.raises(CostFault, match=r"^operation cancelled: actual cost limit exceeded$"):
        program.evaluate(SUBJECT, limit=10)


def test_what_is_bound_is_worked_out_once() -> None:
    """A bound value costs once, however often it is used, and nothing if it is not."""
    assert cost("cel.bind(x, device.driver, x == x && x == x)") == 2 + 4 + 2 * 2
    assert evaluate("cel.bind(x, device.any, true)") is True
    assert cost("cel.bind(x, device.any, true)") == 0


def test_cheap_calls_that_make_much() -> None:
    """What costs little but makes large values again and again is given up on."""
    source = "cel.bind(big, lists.range(50000), lists.range(2000).all(x, '%s'.format([big]) != ''))"
    with pytest.raises(NotEvaluatedError):
        evaluate(source)
