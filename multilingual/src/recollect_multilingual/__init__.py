"""The weights of a model; Recollect finds the folder `multilingual` beside this file."""
