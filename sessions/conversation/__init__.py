"""Sessions and their messages: open, say, pause, resume, end."""
