"""Plans and goals of a session."""
