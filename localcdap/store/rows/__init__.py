"""The rows of datasets in transactions: operations, and changes that are not committed yet."""
