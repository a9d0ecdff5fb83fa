"""Measurements of the product against raw limits of the same machine, servers and run: `python -m benchmarks`.

Not tests: nothing here judges correctness, and `make test` asserts no timing.
"""
