"""What would make a pod fit, or go to another node: changes that are found and tried by deciding."""
