"""The scheduler as a process: flags and files, start-up, signals, exit codes."""
