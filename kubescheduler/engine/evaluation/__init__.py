"""The evaluate protocol: scenarios and queries as JSON lines, and their answers."""
