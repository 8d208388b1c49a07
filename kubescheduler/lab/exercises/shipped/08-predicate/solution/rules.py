"""A node has so many seats; a pod that needs one takes one."""

from algorithmprovider import register_fit_predicate


def needs_seat(labels):
    return labels.get("needs-seat") == "yes"


def free_seat(pod, meta, node_info):
    if not needs_seat(pod.labels):
        return True, []
    text = node_info.node.metadata.labels.get("seats", "0")
    seats = int(text) if text.isdecimal() else 0
    taken = sum(needs_seat(other.metadata.labels) for other in node_info.pods)
    return seats > taken, ["no free seat"]


def register():
    register_fit_predicate("FreeSeat", free_seat)
