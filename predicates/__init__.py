"""Who fits: one family of predicates a file; ``algorithmprovider`` has those that a release registers by name.

CheckNodeLabelPresence and CheckServiceAffinity are made from a policy's own argument: see ``node_identity`` and
``service_affinity``.
"""
