"""Requests to other services: which addresses may be reached, limits of time and size, and checks of the answer."""
