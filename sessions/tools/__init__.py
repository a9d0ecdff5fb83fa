"""Tools that agents may call: Python functions, HTTP descriptions and tools of MCP servers, in one registry."""
