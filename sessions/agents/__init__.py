"""Agents and their models: the registry, the context of a request, and the clients of model providers."""
