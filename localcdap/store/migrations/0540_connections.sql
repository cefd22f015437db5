-- Named connections, which stages use as ${conn(name)}.
CREATE TABLE connections (
    namespace VARCHAR NOT NULL,
    id VARCHAR NOT NULL,          -- the name with other characters than letters, digits and _ as _, in lower case
    name VARCHAR NOT NULL,
    type VARCHAR NOT NULL,        -- such as BigQuery, GCS, S3, PostgreSQL
    description VARCHAR NOT NULL,
    plugin VARCHAR NOT NULL,      -- JSON: name, type, category, artifact, properties
    created BIGINT NOT NULL,
    updated BIGINT NOT NULL,
    PRIMARY KEY (namespace, id)
);
