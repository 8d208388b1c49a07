"""How the command line meets people: what it is shown on, help in groups, what shells complete."""
