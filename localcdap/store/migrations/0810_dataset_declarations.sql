-- The datasets that each deployed pipeline declares, with the schema that it writes.
CREATE TABLE dataset_declarations (
    namespace VARCHAR NOT NULL,
    application VARCHAR NOT NULL,
    dataset VARCHAR NOT NULL,
    schema VARCHAR                    -- JSON; null: it declares none
);
