-- One row for each level that has preferences.
CREATE TABLE preferences (
    namespace VARCHAR NOT NULL,    -- empty: the whole instance
    application VARCHAR NOT NULL,  -- empty: the namespace
    program VARCHAR NOT NULL,      -- type/name, such as workflows/DataPipelineWorkflow; empty: the application
    preferences VARCHAR NOT NULL,  -- JSON object of texts
    sequence BIGINT NOT NULL,
    PRIMARY KEY (namespace, application, program)
);
CREATE SEQUENCE preference_changes;

-- What is told about secure keys. Their values are elsewhere.
CREATE TABLE secure_keys (
    namespace VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    properties VARCHAR NOT NULL,   -- JSON object of texts
    created BIGINT NOT NULL,
    modified BIGINT NOT NULL,
    vault VARCHAR NOT NULL,        -- where the value is: keyring or file
    PRIMARY KEY (namespace, name)
);
