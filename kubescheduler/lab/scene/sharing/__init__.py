"""Scenes that leave the page: links, files, tests, exports, and replays that need no server."""
