"""What a namespace keeps of pipelines: applications, drafts, and templates of plugins."""
