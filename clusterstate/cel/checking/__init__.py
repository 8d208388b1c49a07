"""Types of expressions before anything is evaluated."""
