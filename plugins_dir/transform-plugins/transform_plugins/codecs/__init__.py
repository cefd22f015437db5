"""Single fields sent through a codec: compressed, encoded, and back; texts replaced by their digests."""
