"""Selectors: label and node selectors, tolerations, and which services and controllers a pod belongs to."""
