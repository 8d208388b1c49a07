"""The HTTP servers of a scheduler: health, metrics, configuration and debugging, and who may ask for them."""
