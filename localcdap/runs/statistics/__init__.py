"""What is known of many runs: the dashboard, statistics, overviews, and why runs fail."""
