"""The libraries of functions: their signatures and what they do."""
