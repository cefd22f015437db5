"""Formats of texts and bytes in columns: tables, messages, documents, lines of logs."""
