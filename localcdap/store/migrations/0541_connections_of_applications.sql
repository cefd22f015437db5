-- Connections are entities of an application: rows of the structured table connections_store
-- (CDAP ConnectionStore), with the namespace and its generation first in the key.
CREATE TABLE "app_connections_store" (
    "namespace" VARCHAR NOT NULL,
    "generation" BIGINT NOT NULL,
    "connection_id" VARCHAR NOT NULL,
    "createdtimemillis" BIGINT,
    "updatedtimemillis" BIGINT,
    "connection_data" VARCHAR,
    PRIMARY KEY ("namespace", "generation", "connection_id")
);
INSERT INTO structured_tables VALUES ('connections_store',
    '{"table":"connections_store","fields":{"namespace":"STRING","generation":"LONG","connection_id":"STRING",'
    || '"createdtimemillis":"LONG","updatedtimemillis":"LONG","connection_data":"STRING"},'
    || '"primary_key":["namespace","generation","connection_id"],"indexes":[]}');
INSERT INTO app_connections_store
SELECT c.namespace, n.generation, c.id, c.created, c.updated, json_object(
    'name', c.name, 'connectionId', c.id, 'connectionType', c.type, 'description', c.description,
    'createdTimeMillis', c.created, 'updatedTimeMillis', c.updated, 'plugin', c.plugin::JSON
)::VARCHAR
FROM connections c JOIN namespaces n ON n.name = c.namespace AND n.state = 'active';
DROP TABLE connections;
