"""What is expected, by other means than the code under test."""
