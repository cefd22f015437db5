-- Metadata that programs emit waits here for its consumer: for any number of messages, and a week after that.
INSERT INTO topics VALUES ('system', 'metadata', 1, epoch_ms(now()), 7 * 86400, NULL);

-- Emitted metadata that could not be stored.
CREATE TABLE metadata_set_aside (
    message BIGINT PRIMARY KEY,  -- time of the event, in milliseconds since 1970, and a number
    event VARCHAR NOT NULL,      -- JSON
    error VARCHAR NOT NULL
);
