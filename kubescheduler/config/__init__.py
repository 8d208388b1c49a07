"""Configuration: text in, checked settings out, with every fault told at once."""
