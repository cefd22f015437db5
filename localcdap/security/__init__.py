"""Who acts, what they may do, and the one place that checks it: the calls of services."""
