"""Reports of comparisons and simulations: HTML, JUnit, and the export of kube-scheduler-simulator."""
