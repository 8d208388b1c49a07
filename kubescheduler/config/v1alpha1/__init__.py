"""The component configuration of release 1.16: ``kubescheduler.config.k8s.io/v1alpha1``."""
