"""Whether extenders can be used: what policies and component configurations have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from clusterstate.resource_names import is_extended_resource, worded_1_20
from kubecel.api_names import qualified_name_errors
from kubescheduler.framework.args.field_errors import invalid

if TYPE_CHECKING:
    from kubescheduler.extender.config import ExtenderConfig
    from kubescheduler.framework.args.field_errors import FieldError


def extender_errors(
    extenders: Sequence[ExtenderConfig], worded: Callable[[str], str], foreign: Callable[[str], str]
) -> Iterator[FieldError]:
    """worded: a text about a name as the release has it. foreign: of a name that is no extended resource."""
    managed: set[str] = set()
    for at, extender in enumerate(extenders):
        path = f"extenders[{at}]"
        if extender.prioritize_verb and extender.weight <= 0:
            yield invalid(f"{path}.weight", extender.weight, "must have a positive weight applied to it")
        for number, resource in enumerate(extender.managed_resources):
            where, name = f"{path}.managedResources[{number}].name", resource.name
            texts = qualified_name_errors(name)
            yield from (invalid(where, name, worded(text)) for text in texts)
            if not texts and not is_extended_resource(name):
                yield invalid(where, name, foreign(name))
            if name in managed:
                yield invalid(where, name, "duplicate extender managed resource name")
            managed.add(name)
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    if binders > 1:
        text = "only one extender can implement bind"
        yield invalid("extenders", f"found {binders} extenders implementing bind", text)


def extender_errors_1_20(extenders: Sequence[ExtenderConfig]) -> Iterator[FieldError]:
    """The faults of extenders, which policies have too."""
    return extender_errors(extenders, worded_1_20, lambda name: f"{name} is an invalid extended resource name")
