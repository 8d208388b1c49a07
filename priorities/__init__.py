"""Who is best: one family of priorities a file; ``algorithmprovider`` has those that a release registers by name.

ServiceAntiAffinity, LabelPreference and RequestedToCapacityRatio are also made from a policy's own argument: see
``service_anti_affinity``, ``node_labels`` and ``capacity_ratio``.
"""
