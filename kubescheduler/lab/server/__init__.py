"""The lab's server: the page's files, and what the page asks, over HTTP on this machine. Nothing here decides."""
