"""Delegations: who decides for whom, for how long."""
