"""The data screen of the studio: a browser of tables, and an SQL console."""
