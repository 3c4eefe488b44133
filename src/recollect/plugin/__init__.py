"""What a plugin may use beside what `import recollect` offers: one module for each kind of plugin,
named like its group of entry points."""
