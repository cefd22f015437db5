"""What texts and bytes in columns can be read as: tables, messages, documents, lines of logs."""
