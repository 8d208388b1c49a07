"""Label selectors as the framework releases 1.20 and 1.36 compile them."""

from __future__ import annotations

from clusterstate.objects import LabelSelector
from clusterstate.selectors.matching import Matcher, SelectorError, compile_label_selector, requirements_of
from clusterstate.selectors.term_errors import label_requirement_error_1_36

BEFORE, SINCE = "is not a valid pod selector operator", "is not a valid label selector operator"


def compile_selector(selector: LabelSelector | None) -> Matcher:
    """The matcher of a label selector: None matches nothing, an empty one everything.

    Raises SelectorError with the text of the first invalid requirement.
    """
    try:
        return compile_label_selector(selector)
    except SelectorError as error:
        raise SelectorError(str(error).replace(BEFORE, SINCE)) from None


def compile_selector_1_36(selector: LabelSelector | None) -> Matcher:
    """The same; all faults of the first invalid requirement are told, with their paths.

    Upstream: 1.36 LabelSelectorAsSelector.
    """
    try:
        return compile_selector(selector)
    except SelectorError as error:
        if SINCE in str(error) or selector is None:
            raise
        found = map(label_requirement_error_1_36, requirements_of(selector))
        raise SelectorError(next((text for text in found if text), str(error))) from None
