"""Commands for datasets and tables, and for the preparation of data."""
