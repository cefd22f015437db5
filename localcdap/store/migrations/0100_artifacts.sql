-- What inspection found in each content that was ever seen, good or not.
CREATE TABLE artifact_content (
    digest VARCHAR PRIMARY KEY,
    plugins VARCHAR NOT NULL,      -- JSON list of PluginClass
    errors VARCHAR NOT NULL,       -- JSON list of texts; empty when the content is good
    inspected_by VARCHAR NOT NULL  -- what the answer depends on beside the content
);

-- What lies in the plugin directories.
CREATE TABLE artifact (
    path VARCHAR PRIMARY KEY,
    scope VARCHAR NOT NULL,
    namespace VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    version VARCHAR NOT NULL,
    signature VARCHAR NOT NULL,    -- names, sizes and times of the files
    digest VARCHAR NOT NULL,       -- content found there; empty when it cannot be read
    good_digest VARCHAR NOT NULL,  -- last content that worked; empty when none did
    problem VARCHAR                -- what is wrong besides the errors of the content
);
