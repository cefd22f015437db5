-- the pipelines that were run, each text once in a namespace: see localcdap.runs.documents
CREATE TABLE run_documents (
    namespace VARCHAR NOT NULL,
    digest VARCHAR NOT NULL,
    document VARCHAR NOT NULL,
    PRIMARY KEY (namespace, digest)
);
