"""KubeSchedulerConfiguration: text in, completed configuration out, and back."""
