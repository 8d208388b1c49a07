"""The Common Expression Language as Kubernetes 1.36 has it: parsed, type-checked, evaluated with a limit on cost."""
