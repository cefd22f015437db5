"""The plugins screen of the studio: the catalog of artifacts and plugins, filtered by capabilities."""
