"""What a click costs: until its command has committed, and in SQL statements."""
