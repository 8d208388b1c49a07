"""All functions of the environment that Kubernetes 1.36 gives to selectors of devices.

Upstream: k8s.io/apiserver pkg/cel/environment/base.go, and ``includes`` of k8s.io/dynamic-resource-allocation, which
stored expressions have whatever the feature gates. Functions of the authorizer are left out: nothing has its type.
"""

from __future__ import annotations

from functools import cache

import msgspec

from clusterstate.cel.functions.address_functions import addresses
from clusterstate.cel.functions.cel_overloads import Act, Function, Signature, fits, missing_overload, read_signature
from clusterstate.cel.functions.list_functions import lists, sets
from clusterstate.cel.functions.named_formats import named_formats
from clusterstate.cel.functions.optional_functions import optionals
from clusterstate.cel.functions.quantity_functions import quantities
from clusterstate.cel.functions.regex_functions import patterns
from clusterstate.cel.functions.semver_functions import versions
from clusterstate.cel.functions.standard_functions import operators, standard
from clusterstate.cel.functions.string_functions import strings
from clusterstate.cel.functions.time_functions import times
from clusterstate.cel.functions.url_functions import urls
from clusterstate.cel.values.cel_values import Value


class KnownFunction(msgspec.Struct, frozen=True, eq=False):
    """A function with what all libraries declare of it."""

    name: str
    signatures: tuple[Signature, ...]
    act: Act | None
    """For all signatures alike, if it has one."""
    guarded: bool

    def call(self, values: tuple[Value, ...], overload: str = "") -> Value:
        """What the function gives, by one overload or the first that fits. Raises ValueFault."""
        if self.act is not None:
            return self.act(*values)
        for signature in self.signatures:
            if overload and signature.id != overload:
                continue
            if signature.act is not None and len(signature.arguments) == len(values) and self._fits(signature, values):
                return signature.act(*values)
        raise missing_overload(self.name, values)

    def _fits(self, signature: Signature, values: tuple[Value, ...]) -> bool:
        return not self.guarded or all(map(fits, signature.arguments, values))


def _declared() -> tuple[Function, ...]:
    return (
        *operators(),
        *standard(),
        *times(),
        *optionals(),
        *strings(),
        *lists(),
        *sets(),
        *patterns(),
        *urls(),
        *addresses(),
        *quantities(),
        *versions(),
        *named_formats(),
    )


@cache
def function_table() -> dict[str, KnownFunction]:
    """Name → function."""
    gathered: dict[str, list[Function]] = {}
    for function in _declared():
        gathered.setdefault(function.name, []).append(function)
    return {name: _merged(name, found) for name, found in gathered.items()}


def _merged(name: str, functions: list[Function]) -> KnownFunction:
    signatures = tuple(read_signature(overload) for function in functions for overload in function.overloads)
    guarded = all(function.guarded for function in functions)
    return KnownFunction(name, signatures, functions[0].act, guarded)
