"""Events about pods and locks, as the releases write them."""
