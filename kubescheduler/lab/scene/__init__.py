"""Scenes: a cluster, the pod that is asked about and the schedulers that decide on it, with edits, undo and redo.

``scene.Scene`` holds one, ``verbs.VERBS`` are the questions and edits that a page sends; each answers plain data.
Nothing here knows of HTTP, and no rule is computed here: what is shown is read off decisions and their evidence.
"""
