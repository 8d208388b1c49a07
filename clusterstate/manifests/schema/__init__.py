"""Every field of the kinds that a scheduler reads, in the API of releases 1.4 to 1.36."""
