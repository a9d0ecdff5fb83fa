"""The five patterns of keeping state (`agentstate.engine.stores`) side by side: `python -m benchmarks.patterns`."""
