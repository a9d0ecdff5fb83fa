"""Service levels: targets of a team for answers, decisions and resolutions, measured within its business hours."""
