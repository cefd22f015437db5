"""The namespaces screen of the studio: namespaces with their contents, preferences and secure keys."""
