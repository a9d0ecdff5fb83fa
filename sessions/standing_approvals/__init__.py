"""Standing approvals: commands and queries."""
