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
        # Your part: None lets the pod go at once. Status(Code.Wait) has it wait, at most SECONDS.
        return None, 0

    def reserve(self, state, pod, node_name):
        return None

    def unreserve(self, state, pod, node_name):
        # Your part: this pod gave up its place. What about the others of its gang?
        pass
