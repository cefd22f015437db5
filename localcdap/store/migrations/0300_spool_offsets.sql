-- How far each spool has taken effect.
CREATE TABLE spool_offsets (
    spool VARCHAR PRIMARY KEY,
    position BIGINT NOT NULL  -- bytes from the start of the file to the next message
);
