"""Project tooling: writes the parts of the documentation that come from the program, and runs its examples."""
