"""Which nodes and pods are picked: label and node selectors, tolerations, inter-pod affinity, topology spreading, and
which services and controllers a pod belongs to."""
