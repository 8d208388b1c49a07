"""``format.dns1123Label().validate(text)``. Upstream: k8s.io/apiserver pkg/cel/library/format.go."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import ClassVar

import msgspec

from kubecel import types
from kubecel.api_names import is_too_long, label_value_errors, must_match, qualified_name_errors, subdomain_errors
from kubecel.functions.overloads import Function
from kubecel.functions.urls import UrlFault, parse_request_url
from kubecel.types import CelType
from kubecel.values import NONE, Optional

_UUID = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
_TIME = r"^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$"
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})", re.ASCII)
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_OLD_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_LABEL_LENGTH = 63

Check = Callable[[str], tuple[str, ...]]


class NamedFormat(msgspec.Struct, frozen=True, eq=False):
    """A format that text may have."""

    cel_type: ClassVar[CelType] = types.NAMED_FORMAT
    name: str
    check: Check
    """What is wrong with a text."""
    pattern_size: int
    """What its check costs: characters of a regular expression."""

    def same(self, other: NamedFormat) -> bool:
        """Whether they are equal."""
        return self.name == other.name


def _label(text: str) -> tuple[str, ...]:
    rule = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
        "with an alphanumeric character"
    )
    return _checked_label(text, must_match(rule, _LABEL, "my-name", "123-abc"), _LABEL)


def _old_label(text: str) -> tuple[str, ...]:
    rule = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
        "character, and end with an alphanumeric character"
    )
    return _checked_label(text, must_match(rule, _OLD_LABEL, "my-name", "abc-123"), _OLD_LABEL)


def _checked_label(text: str, message: str, pattern: str) -> tuple[str, ...]:
    long = (f"must be no more than {_LABEL_LENGTH} characters",) if is_too_long(text, _LABEL_LENGTH) else ()
    matches = re.fullmatch(pattern, text[: 2 * _LABEL_LENGTH]) is not None
    return long if matches else (*long, message)


def _prefix(check: Check) -> Check:
    """A name may follow: a dash at the end will do."""

    def act(text: str) -> tuple[str, ...]:
        return check(text[:-2] + "a" if len(text) > 1 and text.endswith("-") else text)

    return act


def _unless(holds: Callable[[str], bool], message: str) -> Check:
    return lambda text: () if holds(text) else (message,)


def _uri(text: str) -> tuple[str, ...]:
    try:
        parse_request_url(text)
    except UrlFault as fault:
        return (str(fault),)
    return ()


def _is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text, re.ASCII):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    date, _, time = text.lower().partition("t")
    match = re.match(_TIME, time, re.ASCII) if "t" not in time and "\n" not in time else None
    return _is_date(date) and match is not None and int(match[1]) <= 23 and int(match[2]) <= 59 and int(match[3]) <= 59


def _constants() -> dict[str, NamedFormat]:
    found = (
        ("dns1123Label", "DNS1123Label", _label, 30),
        ("dns1123Subdomain", "DNS1123Subdomain", subdomain_errors, 60),
        ("dns1035Label", "DNS1035Label", _old_label, 30),
        ("qualifiedName", "QualifiedName", qualified_name_errors, 60),
        ("dns1123LabelPrefix", "DNS1123LabelPrefix", _prefix(_label), 30),
        ("dns1123SubdomainPrefix", "DNS1123SubdomainPrefix", _prefix(subdomain_errors), 60),
        ("dns1035LabelPrefix", "DNS1035LabelPrefix", _prefix(_old_label), 30),
        ("labelValue", "LabelValue", label_value_errors, 40),
        ("uri", "URI", _uri, 1103),
        (
            "uuid",
            "uuid",
            _unless(lambda text: re.fullmatch(_UUID[:-1], text) is not None, "does not match the UUID format"),
            len(_UUID),
        ),
        ("byte", "byte", _unless(lambda text: _BASE64.fullmatch(text) is not None, "invalid base64"), 84),
        ("date", "date", _unless(_is_date, "invalid date"), len(_TIME)),
        ("datetime", "datetime", _unless(_is_datetime, "invalid datetime"), len(_TIME)),
    )
    return {key: NamedFormat(name, check, size) for key, name, check, size in found}


def _validate(wanted: NamedFormat, text: str) -> Optional:
    errors = wanted.check(text)
    return Optional((tuple(errors),)) if errors else NONE


def named_formats() -> tuple[Function, ...]:
    """The functions of this file."""
    constants = _constants()

    def named(name: str) -> Optional:
        return Optional((constants[name],)) if name in constants else NONE

    kind = "kubernetes.NamedFormat"
    fixed = tuple(
        Function.of(f"format.{key}", (f"format.{key}", f"() -> {kind}", lambda each=each: each))
        for key, each in constants.items()
    )
    return (
        *fixed,
        Function.of("validate", ("format-validate", f"{kind}.(string) -> optional_type(list(string))", _validate)),
        Function.of("format.named", ("format-named", f"(string) -> optional_type({kind})", named)),
    )
