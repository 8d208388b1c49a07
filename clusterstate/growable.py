"""Arrays that grow along their axes, with read-only views of the part in use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Mask = NDArray[np.bool_]

NO_NUMBERS: IntArray = np.zeros(0, np.int64)
"""(0,) int64, of which there need be no second."""
NO_NUMBERS.flags.writeable = False


def constant_row(value: int, size: int) -> IntArray:
    """(size,) int64, ``value`` everywhere; read-only, and no larger than the one number."""
    row: IntArray = np.ndarray((size,), np.int64, np.int64(value).tobytes(), strides=(0,))
    return row


class Growable:
    """An array whose used part only grows; ``view`` is read-only and current until it grows again.

    data: shape (capacity…), dtype as given, zero where nothing was written.
    """

    __slots__ = ("_view", "data", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: Any = np.int64) -> None:
        self.shape = shape
        self.data: NDArray[Any] = np.zeros(tuple(max(8, n) for n in shape), dtype=dtype)
        self._view: NDArray[Any] | None = None

    def resize(self, *shape: int) -> None:
        """Makes room for ``shape``; the capacity doubles, so growing by one is cheap on average."""
        if shape == self.shape:
            return
        self.shape = shape
        self._view = None
        if any(want > have for want, have in zip(shape, self.data.shape, strict=True)):
            room = tuple(
                max(want, 2 * have) if want > have else have for want, have in zip(shape, self.data.shape, strict=True)
            )
            grown = np.zeros(room, dtype=self.data.dtype)
            grown[tuple(slice(0, n) for n in self.data.shape)] = self.data
            self.data = grown

    @property
    def view(self) -> NDArray[Any]:
        """The part in use, read-only; valid until the next change of size."""
        if self._view is None:
            self._view = self.data[tuple(slice(0, n) for n in self.shape)]
            self._view.flags.writeable = False
        return self._view
