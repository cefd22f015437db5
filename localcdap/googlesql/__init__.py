"""How GoogleSQL, the SQL of BigQuery, reads, writes and hashes values."""
