"""Tools of MCP servers: `servers` is the form in which one is described, `transports` how it is reached, `talking` what
is said to it, `offers` what it offered and what of that somebody accepted, `source` how its tools reach the registry.
"""
