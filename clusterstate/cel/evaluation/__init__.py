"""Checked trees as closures, and what their evaluation costs."""
