"""The computation WindowAggregation."""
