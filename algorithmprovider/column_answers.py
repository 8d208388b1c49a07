"""What users' own functions over columns answer: masks and scores, one number per node, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from algorithmprovider.custom_code import CustomCall, described, is_integer
from clusterstate.growable import IntArray, Mask

Reason = TypeVar("Reason")

SMALLEST_SCORE, LARGEST_SCORE = -(1 << 63), (1 << 63) - 1
"""What the 64 bits of a score can hold, in every release."""


def masks_by_reason(call: CustomCall, answer: object, kinds: tuple[type[Reason], ...], rows: int) -> dict[Reason, Mask]:
    """The answer of a filter over columns: reason → (n,) bool, true where a node fails.

    kinds: the types that a reason may have. rows: n. Raises CustomCodeError for anything else.
    """
    if not isinstance(answer, Mapping):
        text = "it answers a mapping from each reason to a mask, true where a node fails, "
        raise call.refused(f"{text}not {described_array(answer)}")
    masks: dict[Reason, Mask] = {}
    for reason, mask in answer.items():
        if not isinstance(reason, kinds):
            raise call.refused(f"a reason is a text, not {described(reason)}")
        masks[reason] = _mask(call, reason, mask, rows)
    return masks


def _mask(call: CustomCall, reason: object, given: object, rows: int) -> Mask:
    mask = _array(given)
    if mask is None or mask.dtype != np.bool_ or mask.shape != (rows,):
        text = f"the mask of {described(reason)} has one True or False for each of {rows} nodes"
        raise call.refused(f"{text}, and is not {described_array(given)}")
    return mask


def scores_of_rows(call: CustomCall, answer: object, rows: int) -> IntArray:
    """The answer of a score over columns: (n,) int64. rows: n. Raises CustomCodeError for anything else."""
    scores = _array(answer)
    if scores is None or scores.shape != (rows,) or (scores.dtype.kind not in "iu" and rows):
        text = f"the scores are {rows} whole numbers, one for each node"
        raise call.refused(f"{text}, not {described_array(answer)}")
    if scores.dtype.kind == "u" and (scores > LARGEST_SCORE).any():
        raise call.refused(f"a score has 64 bits, and {scores.max()} has more")
    return scores.astype(np.int64, copy=False)


def score_of_row(call: CustomCall, answer: object, node: str) -> int:
    """The answer of a score of one node. Raises CustomCodeError when it is no whole number of 64 bits."""
    if not is_integer(answer):
        raise call.refused(f"a score is a whole number, not {described_array(answer)}", node)
    score = int(answer)  # type: ignore[call-overload]
    if not SMALLEST_SCORE <= score <= LARGEST_SCORE:
        raise call.refused(f"a score has 64 bits, and {described(score)} has more", node)
    return int(score)


def described_array(answer: object) -> str:
    """An answer as errors show it; of an array its type and shape."""
    if isinstance(answer, np.ndarray):
        shape = " × ".join(map(str, answer.shape))
        return f"an array of {answer.dtype} with {f'shape {shape}' if shape else 'no axis'}"
    return described(answer)


def _array(given: Any) -> np.ndarray[Any, np.dtype[Any]] | None:
    """None: nothing that is an array."""
    try:
        return np.asarray(given)
    except Exception:  # whatever a stranger's object raises
        return None
