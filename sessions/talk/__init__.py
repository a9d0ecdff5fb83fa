"""Topics, turns and entities of a conversation."""
