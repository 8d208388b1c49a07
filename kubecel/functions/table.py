"""All functions of the environment that Kubernetes 1.36 gives to selectors of devices.

Upstream: k8s.io/apiserver pkg/cel/environment/base.go, and ``includes`` of k8s.io/dynamic-resource-allocation, which
stored expressions have whatever the feature gates. Functions of the authorizer are left out: nothing has its type.
"""

from __future__ import annotations

from functools import cache

import msgspec

from kubecel.functions.addresses import addresses
from kubecel.functions.formats import named_formats
from kubecel.functions.lists import lists, optionals, sets
from kubecel.functions.overloads import Act, Function, Signature, fits, missing_overload, read_signature
from kubecel.functions.quantities import quantities
from kubecel.functions.semver import versions
from kubecel.functions.standard import operators, standard
from kubecel.functions.strings import patterns, strings
from kubecel.functions.times import times
from kubecel.functions.urls import urls
from kubecel.values import Value


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
