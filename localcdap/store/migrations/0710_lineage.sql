-- Which runs read and wrote which datasets, in the order in which that became known.
CREATE TABLE lineage_relations (
    namespace VARCHAR NOT NULL,           -- of the dataset
    dataset VARCHAR NOT NULL,
    program_namespace VARCHAR NOT NULL,
    application VARCHAR NOT NULL,
    program_type VARCHAR NOT NULL,        -- Workflow, Spark …
    program VARCHAR NOT NULL,
    run VARCHAR NOT NULL,
    start BIGINT NOT NULL,                -- milliseconds since 1970, from the run's id
    access VARCHAR NOT NULL,              -- read, write, read_write, unknown
    components VARCHAR[] NOT NULL
);

-- Many runs have the same operations: they are stored once, by their checksum. No index: the writer looks first,
-- and DuckDB would refuse a key that was deleted in the same transaction.
CREATE TABLE lineage_operations (
    checksum BIGINT NOT NULL,
    operations VARCHAR NOT NULL           -- JSON
);

-- The end points of the operations of each run.
CREATE TABLE lineage_end_points (
    checksum BIGINT NOT NULL,
    direction VARCHAR NOT NULL,           -- incoming: the end point is a destination; outgoing: a source
    namespace VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    program_namespace VARCHAR NOT NULL,
    application VARCHAR NOT NULL,
    program_type VARCHAR NOT NULL,
    program VARCHAR NOT NULL,
    run VARCHAR NOT NULL,
    start BIGINT NOT NULL
);

-- The fields that operations write.
CREATE TABLE lineage_destination_fields (
    checksum BIGINT NOT NULL,
    namespace VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    field VARCHAR NOT NULL
);

-- Which field of a destination comes from which field of a source; without a destination: it is dropped.
CREATE TABLE lineage_field_summaries (
    checksum BIGINT NOT NULL,
    source_namespace VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    source_field VARCHAR NOT NULL,
    destination_namespace VARCHAR,
    destination VARCHAR,
    destination_field VARCHAR
);

-- The exact edges between columns of each application, as it is now.
CREATE TABLE lineage_column_edges (
    application_namespace VARCHAR NOT NULL,
    application VARCHAR NOT NULL,
    source_namespace VARCHAR NOT NULL,
    source VARCHAR NOT NULL,
    source_field VARCHAR NOT NULL,
    target_namespace VARCHAR NOT NULL,
    target VARCHAR NOT NULL,
    target_field VARCHAR,                 -- null: all fields of the target
    kind VARCHAR NOT NULL,                -- IDENTITY, TRANSFORMATION, AGGREGATION; JOIN, FILTER …
    masking BOOLEAN NOT NULL,
    assumed BOOLEAN NOT NULL
);
