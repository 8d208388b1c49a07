"""A node has so many seats; a pod that needs one takes one."""

from algorithmprovider import register_fit_predicate


def needs_seat(labels):
    return labels.get("needs-seat") == "yes"


def free_seat(pod, meta, node_info):
    # Your part: does the pod need a seat, and has the node one left?
    return True, ["no free seat"]


def register():
    register_fit_predicate("FreeSeat", free_seat)
