"""Policies and configurations, and what becomes of them."""
