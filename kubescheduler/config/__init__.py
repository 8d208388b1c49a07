"""Configuration: text in, checked settings out, with every fault reported at once."""
