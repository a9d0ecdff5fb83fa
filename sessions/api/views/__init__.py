"""The operations of the API, one class each: read the input, call a command or a query, show the answer.

A file a concept; what they share is in `base`.
"""
