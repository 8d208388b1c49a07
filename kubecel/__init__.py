"""CEL, the Common Expression Language, as Kubernetes has it: its libraries, cost limits and error texts.

Read ``program.py`` first; the README says what there is.
"""
