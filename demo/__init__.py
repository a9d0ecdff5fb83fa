"""The demonstration around the product: a bank, its authorization service, and people who call it.

Nothing here imports `sessions` or `audit`, and nothing needs Django: the demo stands outside, as a customer's
own systems would. It meets the product at the public API, over HTTP, and in a database.
"""
