"""Data Prep: a system application that keeps the workspaces and recipes of all namespaces."""
