"""Cheap machines first."""

from algorithmprovider import register_priority_function


def cheap(pod, meta, node_info):
    cents = int(node_info.node.metadata.labels.get("cents-per-hour", "100"))
    return max(0, 10 - cents // 10)


def register():
    register_priority_function("Cheap", cheap)
