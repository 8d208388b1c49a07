"""What is counted of the pods on nodes, kept as they come and go."""
