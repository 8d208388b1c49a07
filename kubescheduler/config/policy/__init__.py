"""Policy documents of each release: decoded, checked, and for 1.20 turned into a profile."""
