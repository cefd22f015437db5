"""Where data comes from and where it goes: datasets, programs, fields, operations, edges between columns."""
