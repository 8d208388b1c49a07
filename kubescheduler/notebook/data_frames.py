"""Columns of results as a pandas DataFrame or an Arrow table, where these packages are installed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from clusterstate.errors import ConfigError

Columns = Mapping[str, Sequence[Any]]
"""Column → its values, all columns of one length; None is a missing value."""


def data_frame(columns: Columns, index: str) -> Any:
    """A pandas DataFrame with one of the columns as index. Raises ConfigError without pandas."""
    pandas = _package("pandas", "to_frame")
    made = {name: pandas.array(list(values), dtype=_dtype(values)) for name, values in columns.items()}
    return pandas.DataFrame(made).set_index(index)


def arrow_table(columns: Columns) -> Any:
    """A pyarrow Table. Raises ConfigError without pyarrow."""
    return _package("pyarrow", "to_arrow").table({name: list(values) for name, values in columns.items()})


def _dtype(values: Sequence[Any]) -> str:
    """The pandas type that keeps whole numbers whole where some are missing."""
    there = [value for value in values if value is not None]
    for kind, dtype in ((bool, "boolean"), (int, "Int64"), (float, "Float64")):
        if there and all(isinstance(value, kind) for value in there):
            return dtype
    return "object"


def _package(name: str, method: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{method} needs {name}, which is not installed: pip install 'kubescheduler[notebook]'"
        ) from error
