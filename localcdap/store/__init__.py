"""The owner of the instance's DuckDB file: opening, migrations, transactions, and tables."""
