"""Tools for assistants: what ``tools`` answers, served by the Model Context Protocol."""
