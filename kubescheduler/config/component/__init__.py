"""KubeSchedulerConfiguration: text in, completed configuration out, and back.

Release 1.20 reads v1beta1. Release 1.36 reads v1, and v1beta2 and v1beta3 as the last release that knew them.
"""

from __future__ import annotations

from kubescheduler.config.component.load_config import (
    component_config_from,
    component_document,
    default_config,
    read_component_config,
    write_component_config,
)

__all__ = [
    "component_config_from",
    "component_document",
    "default_config",
    "read_component_config",
    "write_component_config",
]
