"""Transactions on structured tables and on the rows of datasets: operations, sessions and conflicts."""
