"""The interface for plugins, in addition to `import recollect`: one module for each kind of plugin,
named like its group of entry points."""
