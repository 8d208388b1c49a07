"""Two or more configured schedulers on the same pods: who goes elsewhere, and why."""
