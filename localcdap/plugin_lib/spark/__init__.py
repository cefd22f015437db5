"""What plugins need to work on DataFrames: exact names, types, conversions, checks that fail the run."""
