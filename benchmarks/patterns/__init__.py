"""The five patterns of keeping state (`benchmarks.patterns.stores`) side by side: `python -m benchmarks.patterns`."""
