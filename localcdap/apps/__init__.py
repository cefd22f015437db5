"""System applications: deployed from artifacts, run in processes of their own, called by anybody."""
