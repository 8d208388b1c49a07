"""The scheduling and the binding cycle, and the loop that drives them."""
