"""The framework of one profile: its plugins at their points, run as plugins and the Handle see them."""
