"""Pages and API of alert rules, targets and calendars."""
