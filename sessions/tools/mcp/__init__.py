"""Tools of MCP servers: `servers` is the form of a server, `transports` how it is reached, `requests` what is sent to
it, `offers` what it offers and what of that was accepted, `source` how its tools reach the registry.
"""
