"""Workers: leases, model requests, running calls, deadlines and delegates. Intent before effect, result after."""
