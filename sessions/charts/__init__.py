"""Statecharts: pages and API."""
