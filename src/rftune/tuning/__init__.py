"""The search for hyperparameters: the inverse problem, the loop, and one file per optimiser."""
