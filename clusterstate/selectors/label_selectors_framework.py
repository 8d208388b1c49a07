"""Label selectors as the framework releases 1.20 and 1.36 compile them."""

from __future__ import annotations

from clusterstate.objects import LabelSelector
from clusterstate.selectors.matching import Matcher, SelectorError, compile_label_selector

BEFORE, SINCE = "is not a valid pod selector operator", "is not a valid label selector operator"


def compile_selector(selector: LabelSelector | None) -> Matcher:
    """The matcher of a label selector: None matches nothing, an empty one everything.

    Raises SelectorError with the text of the first invalid requirement.
    """
    try:
        return compile_label_selector(selector)
    except SelectorError as error:
        raise SelectorError(str(error).replace(BEFORE, SINCE)) from None
