"""The args of plugins: types, defaults, and what is wrong with them in each release's words."""
