"""Plain data of what a scene holds and of what its schedulers decide."""
