"""The REST API: recorded requests of real clients with the answers that these need."""
