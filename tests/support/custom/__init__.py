"""Plugins and extenders of users."""
