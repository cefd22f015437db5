-- What the stages of each run have read and written, with its place; removed with the run.
CREATE TABLE run_accesses (
    run VARCHAR NOT NULL,
    is_write BOOLEAN NOT NULL,
    is_committed BOOLEAN NOT NULL,   -- true for reads
    access VARCHAR NOT NULL          -- JSON
);

-- Events of OpenLineage that wait for a destination. No index: the deleted rows are always the first ones.
CREATE SEQUENCE openlineage_ids;
CREATE TABLE openlineage_events (
    id BIGINT NOT NULL,
    event VARCHAR NOT NULL           -- JSON
);

-- How far each destination has got.
CREATE TABLE openlineage_destinations (
    name VARCHAR NOT NULL,           -- file or http
    position BIGINT NOT NULL,        -- the id of the last event that it has got
    dropped BIGINT NOT NULL,         -- events that were dropped because too many waited
    refused BIGINT NOT NULL,         -- events that the destination does not accept
    error VARCHAR                    -- why it refused the last of them
);
