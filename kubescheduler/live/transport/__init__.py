"""HTTP to the API server: who we are, how often we may ask, and what its answers mean."""
