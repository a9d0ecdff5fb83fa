"""Stops: nothing new may happen in a team, for an agent or a tool."""
