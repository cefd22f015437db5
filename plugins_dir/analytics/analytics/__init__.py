"""The application ModelManagementApp, and the plugins that train and use models in pipelines."""
