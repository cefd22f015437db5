"""What is known of entities: tags and properties, who changed them and when, and their search."""
