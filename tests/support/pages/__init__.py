"""Browsers, and the pages of the lab and of reports."""
