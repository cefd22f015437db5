-- How many processes answer the calls of a service of a system application; no row: one.
CREATE TABLE service_instances (
    application VARCHAR NOT NULL,
    service VARCHAR NOT NULL,
    instances INTEGER NOT NULL,
    PRIMARY KEY (application, service)
);
