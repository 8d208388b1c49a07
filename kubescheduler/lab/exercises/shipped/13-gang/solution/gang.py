"""A pod of a gang waits until its whole gang has places."""

from kubescheduler.core.status import Code, Status

SECONDS = 30.0


def gang_of(pod):
    return pod.metadata.labels.get("gang")


def size_of(pod):
    return int(pod.metadata.annotations["gang-size"])


class Gang:
    name = "Gang"

    def __init__(self, args, handle):
        self.handle = handle

    def permit(self, state, pod, node_name):
        if gang_of(pod) is None:
            return None, 0
        waiting = self.waiting(pod)
        if len(waiting) + 1 < size_of(pod):
            return Status(Code.Wait), SECONDS
        for held in waiting:
            held.allow(self.name)
        return None, 0

    def reserve(self, state, pod, node_name):
        return None

    def unreserve(self, state, pod, node_name):
        for held in self.waiting(pod):
            held.reject(self.name, f"{pod.metadata.name} of the same gang was given up")

    def waiting(self, pod):
        gang = gang_of(pod)
        return [held for held in self.handle.waiting_pods() if gang is not None and gang_of(held.pod) == gang]
