"""The live scheduler in tests: clocks, servers and processes."""
