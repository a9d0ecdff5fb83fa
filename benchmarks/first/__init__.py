"""Group `first`: a durable step, a decision's way to the next step, and a commit's way to the browser."""
