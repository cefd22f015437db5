-- One row for each version of a deployed pipeline; the one of the largest number is the latest.
CREATE TABLE applications (
    namespace VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    number INTEGER NOT NULL,       -- 1 for the first
    version VARCHAR NOT NULL,      -- time-based UUID
    description VARCHAR,
    artifact VARCHAR NOT NULL,     -- JSON: name, version, scope
    document VARCHAR NOT NULL,     -- JSON text of the pipeline, as it was given
    author VARCHAR NOT NULL,
    change VARCHAR,                -- what its deployer said about it
    created BIGINT NOT NULL,       -- milliseconds since 1970
    PRIMARY KEY (namespace, name, number)
);
