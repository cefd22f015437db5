-- What clients of the REST API keep in the instance, and nothing else reads: settings of pages, profiles …
CREATE TABLE client_documents (
    namespace VARCHAR NOT NULL,
    kind VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    document VARCHAR NOT NULL,        -- JSON
    updated BIGINT NOT NULL,          -- milliseconds since 1970
    PRIMARY KEY (namespace, kind, name)
);
