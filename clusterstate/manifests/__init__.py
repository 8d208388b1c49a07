"""Manifests: parsed JSON or YAML to objects and back, and what an API server fills in."""
