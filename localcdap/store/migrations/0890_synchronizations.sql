-- What an instance and a folder agreed on when they were synchronized last: the base of the next three-way merge.
CREATE TABLE synchronizations (
    namespace VARCHAR NOT NULL,
    folder VARCHAR NOT NULL,          -- its absolute path
    kind VARCHAR NOT NULL,            -- pipelines, drafts, connections …
    key VARCHAR NOT NULL,
    folder_text VARCHAR NOT NULL,     -- canonical JSON of the folder's side
    instance_text VARCHAR NOT NULL,   -- canonical JSON of the instance's side
    PRIMARY KEY (namespace, folder, kind, key)
);
