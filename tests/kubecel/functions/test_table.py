"""Optional values, times, patterns, URLs, addresses and named formats."""

from __future__ import annotations

import ipaddress
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubecel import CostFault, NotEvaluatedError
from kubecel.functions.strings import find_all
from kubecel.functions.table import function_table
from kubecel.program import compile_program
from tests.support.references.cel import FIELDS, SUBJECT, cost, evaluate, fault_of

OPTIONALS = [
    ("optional.of(1).orValue(2) + optional.none().orValue(2)", 3),
    ("optional.none().or(optional.of(3)).value()", 3),
    ("optional.of(1).hasValue() && !optional.none().hasValue()", True),
    ("optional.ofNonZeroValue('').hasValue() || optional.ofNonZeroValue(0u).hasValue()", False),
    ("{'a': {'b': 1}}.?a.b.orValue(0) + {'a': {'b': 1}}.?x.b.orValue(5)", 6),
    ("[1, 2][?5].orValue(7) + [1, 2][?0].orValue(7)", 8),
    ("{'a': 1}[?'a'].optMap(x, x + 1).orValue(0) + {'a': 1}[?'b'].optMap(x, x + 1).orValue(0)", 2),
    ("optional.of({'a': 1}).optFlatMap(m, m.?a).value()", 1),
    ("[1, ?optional.none(), ?optional.of(2)]", [1, 2]),
    ("{?'a': optional.none(), 'b': 1}", {"b": 1}),
    ("optional.unwrap([optional.of(1), optional.none()]) + [optional.of(2)].unwrapOpt()", [1, 2]),
    ("!has({'a': optional.of({'b': 1})}.a.b) && !has({'a': {}}.?a.b) && has({'a': {'b': 1}}.?a.b)", True),
    ("optional.none() == optional.none() && optional.of(1) != optional.none()", True),
    ("device.?driver.orValue('x')", "gpu.example.com"),
    ("true ? optional.of(1).or(optional.of(1 / 0)).value() : 0", 1),
]
TIMES = [
    ("timestamp('2023-07-14T10:30:45.123Z').getMilliseconds()", 123),
    ("timestamp('2023-07-14T10:30:45.123Z').getMonth() * 10 + timestamp('2023-07-14T10:30:45Z').getDayOfWeek()", 65),
    ("timestamp('2023-01-01T05:30:00Z').getFullYear('-08:00')", 2022),
    ("timestamp('2023-01-01T05:30:00Z').getDayOfYear('America/Los_Angeles')", 364),
    ("timestamp('2023-07-14T10:30:45Z').getDate() * 100 + timestamp('2023-07-14T10:30:45Z').getDayOfMonth()", 1413),
    ("timestamp('2023-07-14T10:30:45+02:30').getHours() * 10000 + timestamp(45).getSeconds('+00:00')", 80045),
    ("duration('1h30m').getMinutes() * 1000 + duration('1.5s').getMilliseconds()", 91500),
    ("string(duration('1h30m') - duration('1ns'))", "5399.999999999s"),
    ("string(timestamp('2020-01-01T00:00:00Z') + duration('24h'))", "2020-01-02T00:00:00Z"),
    ("timestamp('2020-01-02T00:00:00Z') - timestamp('2020-01-01T00:00:00Z') == duration('86400s')", True),
    ("int(timestamp('1970-01-01T00:00:01.9Z')) + int(duration('1us')) + timestamp(5).getSeconds()", 1006),
    ("duration('-1.5h') < duration('0') && timestamp('0001-01-01T00:00:00Z') < timestamp(0)", True),
]
NETWORK = [
    ("ip('192.168.0.1').family() * 10 + ip('::1').family()", 46),
    ("ip('127.0.0.1').isLoopback() && ip('::').isUnspecified() && ip('fe80::1').isLinkLocalUnicast()", True),
    ("ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()", True),
    ("ip('10.0.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()", True),
    ("ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD')", True),
    ("isIP('1.2.3.4') && !isIP('1.2.3') && !isIP('::ffff:1.2.3.4') && !isIP('fe80::1%eth0')", True),
    ("ip('::1') == ip('0:0:0:0:0:0:0:1') && string(ip('2001:DB8::1')) == '2001:db8::1'", True),
    ("cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))", True),
    ("cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.1.0.0/16').containsCIDR(cidr('10.0.0.0/8'))", True),
    ("string(cidr('192.168.0.9/24').masked()) + string(cidr('192.168.0.9/24').ip())", "192.168.0.0/24192.168.0.9"),
    ("cidr('::/0').prefixLength() == 0 && isCIDR('1.2.3.4/32') && !isCIDR('1.2.3.4/33') && !isCIDR('1.2.3.4')", True),
    ("url('https://u@example.com:80/a%20b?x=1&x=2&y#f').getHostname()", "example.com"),
    ("url('https://[::1]:80/').getPort() + url('https://[::1]:80/').getHost()", "80[::1]:80"),
    ("url('https://a/a b').getEscapedPath() + url('HTTPS://a/').getScheme()", "/a%20bhttps"),
    ("url('https://a/?x=1&x=2&y=%20').getQuery()", {"x": ["1", "2"], "y": [" "]}),
    ("isURL('/path') && isURL('a:b') && !isURL('path') && !isURL('http://a b/') && !isURL('http://a:b/')", True),
    ("url('https://a/') == url('https://a/') && url('/a') != url('/b')", True),
]
PATTERNS = [
    ("'abc 123'.find('[0-9]+') + 'abc'.find('[0-9]+')", "123"),
    ("'123 abc 456'.findAll('[0-9]+')", ["123", "456"]),
    ("'123 abc 456'.findAll('[0-9]+', 1) + 'a'.findAll('a', 0)", ["123"]),
    ("'abc'.findAll('b*')", ["", "b", ""]),
    ("'foobar'.matches('^fo+') && matches('x', '(?i)X') && !'a\\n'.matches('a$') && '☃'.matches('^.$')", True),
    ("('a' + 'a').matches('(a+)+$')", True),
]
FORMATS = [
    ("format.dns1123Label().validate('my-label').hasValue()", False),
    ("format.named('uuid').value().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()", False),
    ("format.uuid().validate('x').value()", ["does not match the UUID format"]),
    ("format.byte().validate('aGVsbG8').value()", ["invalid base64"]),
    (
        "format.date().validate('2020-01-32').value() + format.datetime().validate('2020-01-01').value()",
        ["invalid date", "invalid datetime"],
    ),
    ("format.datetime().validate('2020-01-01T00:00:00Z').hasValue() || format.named('none').hasValue()", False),
    ("format.dns1123LabelPrefix().validate('a-b-').hasValue() || format.labelValue().validate('').hasValue()", False),
    ("format.dns1035Label().validate('1a').value().size()", 1),
    ("format.uri().validate('x').value()", ['parse "x": invalid URI for request']),
    ("format.qualifiedName().validate('a/b/c').hasValue() && format.dns1123Subdomain().validate('A').hasValue()", True),
]
CONVERSIONS = [
    ("int(1.9) + int('-7') + int(5u)", -1),
    ("uint(5) == 5u && uint('5') == 5u && uint(5.9) == 5u", True),
    ("double('1.5') + double(1) + double(2u)", 4.5),
    ("bool('t') && !bool('False')", True),
    ("bytes('é') == b'\\xc3\\xa9'", True),
    ("type(1) == int && type(type(1)) == type && type([]) == list && type({}) == map && type(null) == null_type", True),
    ("type(duration('1s')) == google.protobuf.Duration && type(dyn(1u)) == uint", True),
]


@pytest.mark.parametrize(("source", "expected"), [*OPTIONALS, *TIMES, *NETWORK, *PATTERNS, *FORMATS, *CONVERSIONS])
def test_what_functions_give(source: str, expected: object) -> None:
    """Each library gives what the public one gives."""
    assert evaluate(source) == expected


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ("optional.none().value()", "optional.none() dereference"),
        ("dyn([1]).unwrapOpt()", "no such overload: unwrapOpt(list)"),
        ("[?dyn(1)]", "cannot initialize optional list element from non-optional value 1"),
        ("{?'a': dyn(1)}", "cannot initialize optional entry 'a' from non-optional value 1"),
        ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp overflow"),
        ("timestamp(0).getHours('No/Where')", "unknown time zone No/Where"),
        ("timestamp(0).getHours('a:b')", 'strconv.Atoi: parsing "a": invalid syntax'),
        ("duration('2562047h') + duration('2562047h')", "duration overflow"),
        (
            "ip('2001:db8:::68')",
            'IP Address "2001:db8:::68" parse error during conversion from string: ParseAddr("2001:db8:::68"): '
            'each colon-separated field must have at least one digit (at ":68")',
        ),
        ("ip('fe80::1%eth0')", 'IP address "fe80::1%eth0" with zone value is not allowed'),
        ("ip('::ffff:1.2.3.4')", 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'),
        (
            "cidr('1.2.3.4')",
            "network address parse error during conversion from string: network address parse error during conversion "
            "from string: netip.ParsePrefix(\"1.2.3.4\"): no '/'",
        ),
        ("url('x')", 'URL parse error during conversion from string: parse "x": invalid URI for request'),
        ("'a'.find('(' + '')", "Illegal regex: error parsing regexp: missing closing ): `(`"),
        ("'a'.matches('(?=a)' + '')", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
        ("'a'.matches('\\\\1' + '')", "error parsing regexp: invalid escape sequence: `\\1`"),
        ("'a'.matches('a**' + '')", "error parsing regexp: invalid nested repetition operator: `**`"),
        ("ip('::1') == dyn('::1')", "no such overload"),
        ("int(dyn([device.driver]))", "no such overload: int(list)"),
    ],
)
def test_what_functions_refuse(source: str, fault: str) -> None:
    """Faults say what the public libraries say."""
    assert fault_of(source) == fault


def test_every_signature_can_be_read() -> None:
    """All declared signatures are types, and every function has one that acts."""
    evaluated_apart = ("_?_:_", "_&&_", "_||_", "@not_strictly_false", "_==_", "_!=_", "_[_]", "_[?_]", "or", "orValue")
    for name, function in function_table().items():
        acts = [signature.act is not None for signature in function.signatures]
        assert function.act is not None or all(acts) or name in evaluated_apart, name


@given(st.ip_addresses())
def test_addresses_are_read_back(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    """An address is equal to the one that its text means."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return
    assert evaluate(f"string(ip('{address}'))") == str(address)
    assert evaluate(f"ip.isCanonical('{address}')") is True


@given(st.text(alphabet="ab", max_size=8), st.sampled_from(["a", "b+", "ab", "a|b", "[ab]b", "ba?"]))
def test_patterns_that_both_know(text: str, pattern: str) -> None:
    """Patterns that Python reads alike find the same."""
    assert list(find_all(text, pattern)) == re.findall(pattern, text)


def test_a_pattern_that_others_take_long_for() -> None:
    """Repeated repetitions cost no more than others."""
    assert evaluate(f"'{'a' * 60}!'.matches('^(a+)+$')") is False


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


def test_cheap_calls_that_make_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """What costs little but makes large values again and again is given up on."""
    monkeypatch.setattr("kubecel.evaluation.MOST_MADE", 400_000)
    source = "cel.bind(big, lists.range(5000), lists.range(2000).all(x, '%s'.format([big]) != ''))"
    with pytest.raises(NotEvaluatedError):
        evaluate(source)
