"""A whole cluster read once, for commands that decide on clusters instead of running in them."""
