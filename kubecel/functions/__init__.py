"""The functions that expressions may call: CEL's own and Kubernetes' libraries; ``table.py`` lists them."""
