"""A scene as one file that opens without a server: the page, and the answers to what it asks."""
