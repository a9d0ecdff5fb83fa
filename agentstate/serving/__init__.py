"""The web server: Daphne, with bounds on what a client may send and how slowly.

Read channel.py (requests), then sockets.py (WebSockets). heads.py and rates.py are the pure parts.
"""
