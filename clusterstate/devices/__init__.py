"""Dynamic resource allocation: claims, device classes, slices, and the search for devices."""
