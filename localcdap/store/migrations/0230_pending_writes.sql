-- What the stages of active runs have written: it counts when the run commits.
CREATE TABLE pending_writes (
    run VARCHAR NOT NULL,
    stage VARCHAR NOT NULL,
    dataset VARCHAR NOT NULL,
    document VARCHAR  -- schema of the records; null: unknown
);
