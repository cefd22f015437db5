-- Plugins with properties set beforehand, under names of their own.
CREATE TABLE plugin_templates (
    namespace VARCHAR NOT NULL,
    type VARCHAR NOT NULL,
    name VARCHAR NOT NULL,
    plugin VARCHAR NOT NULL,
    artifact VARCHAR NOT NULL,     -- JSON: scope, name and version, each perhaps null
    properties VARCHAR NOT NULL,   -- JSON object of texts
    locked VARCHAR NOT NULL,       -- JSON list of names of properties
    description VARCHAR NOT NULL,
    PRIMARY KEY (namespace, type, name)
);
