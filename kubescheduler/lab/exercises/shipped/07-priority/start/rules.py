"""Cheap machines first."""

from algorithmprovider import register_priority_function


def cheap(pod, meta, node_info):
    # Your part: node_info.node.metadata.labels has the price, as a text.
    return 0


def register():
    register_priority_function("Cheap", cheap)
