-- One row for each table of rows that pipelines read and write.
CREATE TABLE dataset_tables (
    namespace VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    document VARCHAR NOT NULL,  -- schema of the rows, as JSON
    key_field VARCHAR,          -- null: rows have no identity
    updated TIMESTAMPTZ NOT NULL,
    PRIMARY KEY (namespace, name)
);
