"""The releases of kube-scheduler: a file each, which says everything that the release is.

A file begins from the release before it and names what changed. Read ``release.py`` first, which says what there is to
say; ``lookup.py`` finds a release by its name. A new file here is a new release; nothing else lists them.
"""
