"""The figures that speed is judged by, before a change and after it."""
