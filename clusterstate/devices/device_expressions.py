"""CEL expressions that select devices, as 1.36's scheduler compiles and evaluates them.

Upstream: k8s.io/dynamic-resource-allocation cel/compile.go and cache.go: the environment of stored expressions, without
an estimate of what an expression may cost; what an evaluation does cost is limited. CEL is imported at the first
expression only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from clusterstate.objects.resource import Device
from kubecel.faults import CompileFault

Condition = Callable[[str, Device], bool]
"""Of (driver, device): whether it is selected; may raise ValueFault, CostFault and NotEvaluatedError."""


@lru_cache(maxsize=1024)
def compile_expression(source: str) -> Condition:
    """The expression, ready to be asked about devices. Raises CompileFault and NotEvaluatedError."""
    from clusterstate.devices.device_values import FIELDS, as_condition, subject_of
    from kubecel import types
    from kubecel.program import compile_program

    program = compile_program(source, "device", FIELDS)
    if program.kind not in (types.BOOL, types.ANY):
        shown = types.full_name(program.kind)
        raise CompileFault(f"must evaluate to bool or the unknown type, not {shown}")
    return lambda driver, device: as_condition(program.evaluate(subject_of(driver, device)))
