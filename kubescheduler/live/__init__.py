"""The scheduler as a process beside an API server: what it reads, decides, writes, says and exports."""
