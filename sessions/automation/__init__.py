"""Team rules: triggers, alert rules, notification rules and service levels."""
