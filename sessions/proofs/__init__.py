"""Proofs of entries and values, and the tools that make and check them."""
