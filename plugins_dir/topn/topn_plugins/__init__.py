"""The aggregator TopN."""
