"""The log of a live scheduler, as klog writes it."""
