"""The formats of files, as DataFrames."""
