"""Approval requests: the list, the card, decisions, claims, assignment and withdrawal."""
