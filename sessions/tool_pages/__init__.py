"""Pages and API of tools and MCP servers."""
