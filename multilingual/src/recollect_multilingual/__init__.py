"""The weights of a model; Recollect finds the folder `multilingual` next to this file."""
