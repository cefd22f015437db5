"""Transactions on structured tables and datasets for programs outside of the host: calls and client."""
