"""Erasure, legal holds, retention and reports of data subjects."""
