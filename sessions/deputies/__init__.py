"""Deputies and missing approvers of a team."""
